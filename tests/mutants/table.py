"""Protections, each with a change that breaks it and the test that must notice.

`tools/mutants.py` makes the changes one at a time in a copy of the source and demands that the test fails.
"""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    promise: str
    place: str  # below src/ipmicra
    before: str  # occurs once there
    after: str
    test: str
    is_quick: bool = False  # run by `make test` too


MUTANTS = (
    Mutant(
        "own addresses are not crawled",
        "net/address_guard.py",
        'return f"{address} is this machine\'s own" if is_own(address) else None',
        "return None",
        "tests/net/test_address_guard.py::test_this_machines_own_public_address_is_refused",
        is_quick=True,
    ),
    Mutant(
        "neighbours are not reached",
        "host/broker/policy.py",
        "if is_neighbour(address, self._current_routes()):",
        "if False:",
        "tests/host/broker/test_broker.py::test_a_neighbour_with_a_public_address_is_refused",
    ),
    Mutant(
        "contacts are written down before the packet",
        "host/broker/broker.py",
        'self._meter.record_contact(str(address), site, "fetch")',
        "pass",
        "tests/host/broker/test_broker.py::test_a_connection_is_written_down_before_its_first_packet_leaves",
    ),
    Mutant(
        "results lead to pages only",
        "theme/layout.py",
        'return url if url.startswith(("http://", "https://", "/")) else "#"',
        "return url",
        "tests/search/http/test_application.py::test_a_result_never_leads_to_what_a_browser_would_run",
    ),
    Mutant(
        "pages run their own scripts only",
        "theme/policy.py",
        "\"script-src 'self'\"",
        "\"script-src * 'unsafe-inline'\"",
        "tests/search/http/test_application.py::test_a_page_may_run_only_scripts_of_its_own",
    ),
    Mutant(
        "a package is synced before it has its name",
        "carrier/durable.py",
        "        os.fsync(file.fileno())\n",
        "",
        "tests/coordinator/store/test_durability.py::test_a_package_is_synced_then_named_then_its_folder_is_synced",
        is_quick=True,
    ),
    Mutant(
        "the folder of a package is synced",
        "carrier/durable.py",
        "    sync_folder(path.parent)\n",
        "",
        "tests/coordinator/store/test_durability.py::test_a_package_is_synced_then_named_then_its_folder_is_synced",
        is_quick=True,
    ),
    Mutant(
        "a package that is there is made to last",
        "coordinator/store/package_bytes/file_store.py",
        "                sync_folder(path.parent)\n                return\n",
        "                return\n",
        "tests/coordinator/store/test_durability.py",
    ),
    Mutant(
        "the journal of a spool is synced",
        "carrier/journal.py",
        "        os.fdatasync(self._file.fileno())\n",
        "",
        "tests/coordinator/store/test_durability.py::test_the_journal_of_a_spool_is_synced_before_it_counts",
        is_quick=True,
    ),
    Mutant(
        "the coordinator's database is synced",
        "coordinator/store/sql/database.py",
        '"synchronous=full"',
        '"synchronous=off"',
        "tests/coordinator/store/test_durability.py::test_the_coordinators_database_syncs_what_it_commits",
    ),
    Mutant(
        "the catalogue is synced",
        "search/catalogue/page_catalogue.py",
        "PRAGMA synchronous = FULL",
        "PRAGMA synchronous = NORMAL",
        "tests/coordinator/store/test_durability.py::test_the_catalogue_syncs_what_it_commits",
    ),
    Mutant(
        "rows are written after the index",
        "coordinator/ingest/integrator.py",
        "            self._index.commit()\n",
        "            for claim, filtered in taken_in:\n"
        "                self._record(claim, filtered, now_s)\n"
        "            self._index.commit()\n",
        "tests/coordinator/store/test_durability.py::test_rows_are_written_after_the_index_has_committed",
    ),
    Mutant(
        "no two hosts contradict anybody",
        "coordinator/ingest/jury.py",
        "if len(agreeing) < AGREEING_MIN:",
        "if False:",
        "tests/coordinator/ingest/test_cross_check.py::test_two_hosts_where_there_are_no_more_dismiss_nobody",
    ),
    Mutant(
        "no site alone dismisses anybody",
        "coordinator/ingest/trust.py",
        "added = min(weight, SITE_SHARE_MAX * ALARM - before)",
        "added = weight",
        "tests/coordinator/ingest/test_cross_check.py::test_no_site_alone_dismisses_anybody",
    ),
    Mutant(
        "dynamic pages contradict nobody",
        "coordinator/ingest/jury.py",
        "if len(agreeing) < AGREEING_SHARE * len(told):",
        "if False:",
        "tests/coordinator/ingest/test_cross_check.py::test_a_page_that_changes_with_each_request_contradicts_nobody",
    ),
    Mutant(
        "a control look excuses what changes",
        "coordinator/ingest/cross_check.py",
        "if case.is_accused and not has_changed:",
        "if case.is_accused:",
        "tests/coordinator/ingest/test_cross_check.py::test_a_page_that_changed_and_changes_again_contradicts_nobody",
    ),
    Mutant(
        "second looks obey robots.txt",
        "host/measuring/page_observation.py",
        "if robots is DISALLOW_ALL or not robots.allows(path_of(normal)):",
        "if False:",
        "tests/host/measuring/test_page_observation.py::test_what_robots_txt_forbids_is_not_seen",
    ),
    Mutant(
        "a host is not aimed at a site",
        "host/measuring/page_observation.py",
        "if len(self._begun) >= PER_HOUR_MAX or of_site >= PER_SITE_PER_HOUR_MAX:",
        "if False:",
        "tests/host/measuring/test_page_observation.py::test_a_coordinator_cannot_aim_a_host_at_a_site",
    ),
    Mutant(
        "values of packages are checked",
        "carrier/package.py",
        "        check_ranges(records)\n",
        "",
        "tests/coordinator/ingest/test_integrator.py",
    ),
    Mutant(
        "a page does not bring its own hash",
        "carrier/package.py",
        "    _check_others(columns.others)\n",
        "",
        "tests/coordinator/ingest/test_integrator.py::test_a_page_among_the_other_records_is_refused",
    ),
    Mutant(
        "the coordinator's clock bounds a crawler's",
        "coordinator/ingest/integrator.py",
        "            package = within_our_time(package, now_s)\n",
        "",
        "tests/coordinator/ingest/test_integrator.py::test_a_clock_that_is_ahead_wins_against_nobody",
    ),
    Mutant(
        "gzip members are counted",
        "crawler/fetching/content_decoding.py",
        "if len(parts) >= MEMBERS_MAX:",
        "if False:",
        "tests/crawler/test_bounded_work.py::test_a_body_of_many_small_parts_is_refused_at_once",
    ),
    Mutant(
        "elements of a sitemap are counted",
        "crawler/decisions/sitemaps.py",
        "if self._elements > ELEMENTS_MAX:",
        "if False:",
        "tests/crawler/test_bounded_work.py::test_a_sitemap_of_more_elements_than_any_has_is_read_no_further",
    ),
    Mutant(
        "rules of robots.txt are counted",
        "crawler/decisions/robots.py",
        "if len(rules) > RULES_MAX:",
        "if False:",
        "tests/crawler/test_bounded_work.py::test_a_site_with_endless_rules_is_not_crawled",
        is_quick=True,
    ),
    Mutant(
        "floods of sites are cut",
        "coordinator/store/sites.py",
        "names = list(dict.fromkeys(sites_by_url.values()))[:sites_max]",
        "names = list(dict.fromkeys(sites_by_url.values()))",
        "tests/coordinator/ingest/test_integrator.py::test_a_flood_of_links_is_cut",
    ),
)
