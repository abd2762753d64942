"""The SQL tables, in SQLAlchemy Core: one definition for SQLite and PostgreSQL.

Times are seconds since 1970 in UTC, by the coordinator's clock. Larger values are JSON or MessagePack,
written and read by the module that owns the table.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

# 2: hand-overs and passive round trips; 3: grants; 4: traffic, who may administer; 5: roll-outs;
# 6: crawlers' lives and moves; 7: visits that failed; 8: tokens of programs, the queue of sites, intake
SCHEMA_VERSION = 8

metadata = MetaData()

# SQLite numbers rows by itself only in a plain INTEGER key.
_RowNumber = BigInteger().with_variant(Integer, "sqlite")

schema_version_table = Table(
    "schema_version",
    metadata,
    Column("version", Integer, primary_key=True),
)

host_table = Table(
    "host",
    metadata,
    Column("name", String(100), primary_key=True),
    Column("contact", Text, nullable=False, server_default=""),
    Column("state", String(20), nullable=False),  # see hosts.HostState
    Column("token_digest", LargeBinary, unique=True),  # of the one-time join token; NULL once used
    Column("token_until_s", Float),
    Column("public_key", LargeBinary, unique=True),
    Column("address", String(50), nullable=False, server_default=""),
    Column("heard_s", Float),  # last signed request
    Column("lease_until_s", Float),
    Column("epoch", BigInteger, nullable=False, server_default="0"),  # rises when the lease is lost
    Column("report", Text, nullable=False, server_default="{}"),  # the host's last report: rules, load
)

channel_table = Table(
    "host_channel",
    metadata,
    Column("host", String(100), ForeignKey("host.name"), primary_key=True),
    Column("channel", String(20), primary_key=True),
    Column("last_sequence", BigInteger, nullable=False),
)

order_table = Table(
    "host_order",
    metadata,
    Column("number", _RowNumber, primary_key=True, autoincrement=True),
    Column("host", String(100), ForeignKey("host.name"), nullable=False),
    Column("kind", String(40), nullable=False),
    Column(
        "key", String(300), nullable=False
    ),  # an open order of the same kind and key is not given twice
    Column("body", LargeBinary, nullable=False),
    Column("given_s", Float, nullable=False),
    Column("fetched_s", Float),
    Column("done_s", Float),
    Column("outcome", LargeBinary),
    Index("host_order_open", "host", "done_s"),
    Index("host_order_done", "done_s"),
)

package_table = Table(
    "package",
    metadata,
    Column("crawler", String(100), primary_key=True),
    Column("sequence", BigInteger, primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("package_bytes", BigInteger, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("received_s", Float, nullable=False),
    Column("state", String(20), nullable=False),  # see packages.PackageState
    Column("reason", Text, nullable=False, server_default=""),
    Column("claimed_by", String(100)),
    Column("claimed_until_s", Float),
    Column("integrated_s", Float),
    Index("package_waiting", "state", "claimed_until_s"),
)

site_table = Table(
    "site",
    metadata,
    Column("name", String(300), primary_key=True),  # scheme, name and port: "https://example.org"
    Column("address", String(50), nullable=False, server_default=""),
    Column("ground", String(100), nullable=False, server_default=""),
    Column("crawler", String(100)),
    Column("epoch", BigInteger, nullable=False, server_default="0"),
    Column("found_s", Float, nullable=False),
    Column("delegated_s", Float),
    Column("state", String(20), nullable=False),  # see sites.SiteStatus
    Column("note", Text, nullable=False, server_default=""),
    Column("queued_s", Float, nullable=False, server_default="0"),  # its place among those that wait
    Column("unsent_s", Float),  # since when it has links that its crawler was not sent; NULL: none
    Index("site_by_crawler", "crawler"),
    Index("site_by_ground", "ground"),
    Index("site_by_state", "state", "found_s"),
    Index("site_queue", "state", "queued_s"),
    Index("site_decided", "state", "delegated_s"),
    Index("site_unsent", "state", "unsent_s"),
)

intake_table = Table(
    "intake",
    metadata,
    Column("day", Integer, primary_key=True),  # since 1970
    Column("source", String(310), primary_key=True),  # "host NAME" or "site NAME": see store.intake
    Column("links", BigInteger, nullable=False),  # new links that were accepted
    Column("sites", BigInteger, nullable=False),  # new sites among them
    Column("dropped", BigInteger, nullable=False),  # links that were beyond a limit
    Column("queued_s", Float, nullable=False),  # the place in the queue of its next new site
)

grant_table = Table(
    "site_grant",
    metadata,
    Column("crawler", String(100), primary_key=True),
    Column(
        "lease_epoch", BigInteger, primary_key=True
    ),  # of the crawler's host, at the time of assignment
    Column("site", String(300), primary_key=True),
    Column("granted_s", Float, nullable=False),
)

link_table = Table(
    "link",
    metadata,
    Column("url", Text, primary_key=True),
    Column("site", String(300), nullable=False),
    Column("found_s", Float, nullable=False),
    Column("given_s", Float),  # when it was sent to the site's crawler
    Index("link_waiting", "site", "given_s"),
    Index("link_given", "given_s"),
)

delegation_table = Table(
    "delegation",
    metadata,
    Column("ground", String(100), primary_key=True),  # the unit: a subnet's range, or a single address
    Column("crawler", String(100), nullable=False),
    Column("epoch", BigInteger, nullable=False, server_default="0"),  # not used; 0.1 selects it
    Column("decided_s", Float, nullable=False),
    Column("decision", LargeBinary, nullable=False),  # DecisionReasons: why, probes, steps
    Index("delegation_by_crawler", "crawler"),
)

passive_table = Table(
    "passive",
    metadata,
    Column("number", _RowNumber, primary_key=True, autoincrement=True),
    Column("crawler", String(100), nullable=False),
    Column("at_s", Float, nullable=False),
    Column("body", LargeBinary, nullable=False),  # host_messages.Passive, until the leader reads it
)

handover_table = Table(
    "handover",
    metadata,
    Column("site", String(300), primary_key=True),
    Column("epoch", BigInteger, nullable=False),  # the site epoch in which the state was released
    Column("digest", String(64), nullable=False),
    Column("saved_s", Float, nullable=False),
)

memory_table = Table(
    "memory",
    metadata,
    Column("name", String(100), primary_key=True),  # "strategy", "calibration", ...
    Column("saved_s", Float, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

leader_table = Table(
    "leader",
    metadata,
    Column("office", String(100), primary_key=True),  # "delegation"
    Column("holder", String(100), nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("until_s", Float, nullable=False),
)

event_table = Table(
    "event",
    metadata,
    Column("number", _RowNumber, primary_key=True, autoincrement=True),
    Column("at_s", Float, nullable=False),
    Column("kind", String(40), nullable=False),
    Column("subject", String(300), nullable=False),
    Column("detail", Text, nullable=False, server_default=""),
    Index("event_by_time", "at_s"),
    Index("event_by_kind", "kind", "at_s"),
)

traffic_table = Table(
    "traffic",
    metadata,
    Column("site", String(300), primary_key=True),
    Column("crawler", String(100), primary_key=True),
    Column("fetches", BigInteger, nullable=False),
    Column("body_bytes", BigInteger, nullable=False),
    Column("byte_ms", Float, nullable=False),  # sum over fetches of bytes times round trip
)

admin_link_table = Table(
    "admin_link",
    metadata,
    Column("digest", LargeBinary, primary_key=True),
    Column("until_s", Float, nullable=False),
)

admin_session_table = Table(
    "admin_session",
    metadata,
    Column("digest", LargeBinary, primary_key=True),
    Column("began_s", Float, nullable=False),
    Column("seen_s", Float, nullable=False),
)

admin_passphrase_table = Table(
    "admin_passphrase",
    metadata,
    Column("name", String(20), primary_key=True),  # "operator"
    Column("salt", LargeBinary, nullable=False),
    Column("digest", LargeBinary, nullable=False),
)

api_token_table = Table(
    "api_token",
    metadata,
    Column("name", String(100), primary_key=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("scopes", Text, nullable=False),  # see api_tokens.TokenScope; a space between two
    Column("made_s", Float, nullable=False),
    Column("until_s", Float),  # NULL: does not expire
    Column("used_s", Float),
    Column("revoked_s", Float),
)

rollout_table = Table(
    "rollout",
    metadata,
    Column("version", String(50), primary_key=True),
    Column("state", String(20), nullable=False),  # see bundles.rollout.RolloutState
    Column("stage", Integer, nullable=False),
    Column("stage_since_s", Float, nullable=False),
    Column("reason", Text, nullable=False, server_default=""),
    Column("begun_s", Float, nullable=False),
)

life_table = Table(
    "crawler_life",
    metadata,
    Column("crawler", String(100), primary_key=True),
    Column("state", String(20), nullable=False),  # see crawler_states.CrawlerState
    Column("since_s", Float, nullable=False),
)

move_table = Table(
    "crawler_move",
    metadata,
    Column("crawler", String(100), primary_key=True),
    Column("target", String(100), nullable=False),
    Column("wanted_s", Float, nullable=False),
    Column("moved_s", Float),  # when its last site was released
)

failure_table = Table(
    "failed_visits",
    metadata,
    Column("day", Integer, primary_key=True),  # since 1970, when the coordinator received it
    Column("crawler", String(100), primary_key=True),
    Column("kind", String(40), primary_key=True),  # see model.failures
    Column("site", String(300), primary_key=True),  # "": sites beyond the limit of named sites
    Column("count", BigInteger, nullable=False),
    Column("at_s", Float, nullable=False),  # the latest, by the crawler's clock
    Column("url", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Index("failed_visits_latest", "kind", "at_s"),
)
