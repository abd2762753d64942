"""Every conversation across a process border, and every record that is kept in a file or a row -> its type.

The names at the left are the tests' own and stay; the types at the right follow the code. A new kind of
message is added here in the same commit.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import msgspec

from ipmicra.carrier.format.column_encoder import PackageColumns
from ipmicra.carrier.format.format_v1_v2 import EarlierColumns
from ipmicra.carrier.package import PackageHeader
from ipmicra.coordinator.ingest.cross_check import PendingCheck
from ipmicra.coordinator.leader.checkpoint import LearnedState
from ipmicra.coordinator.leader.recalibration import DayLoads
from ipmicra.coordinator.store.delegations import DecisionReasons
from ipmicra.crawler.frontier.transfer import Chunk
from ipmicra.crawler.multiprocess.mailbox import MailboxItem
from ipmicra.host.code.slots import SlotState
from ipmicra.model.records import Record
from ipmicra.overlay.live.network_file import NetworkFile
from ipmicra.protocol import broker_messages as broker
from ipmicra.protocol import guest_messages as inside
from ipmicra.protocol import host_messages
from ipmicra.protocol.bundle_format import BundleManifest
from ipmicra.protocol.overlay_messages import RoutedPayload
from ipmicra.protocol.overlay_rpc import WireMessage
from ipmicra.registry.treefile import TreeFileHeader as TreeHeader

Encoding = Literal["msgpack", "json"]


class WireChannel(NamedTuple):
    """What is read, and how it is written."""

    kind: Any
    encoding: Encoding = "msgpack"

    def encoded(self, value: Any) -> bytes:
        return msgspec.json.encode(value) if self.encoding == "json" else msgspec.msgpack.encode(value)

    def decoded(self, data: bytes, kind: Any = None) -> Any:
        read = msgspec.json.decode if self.encoding == "json" else msgspec.msgpack.decode
        return read(data, type=self.kind if kind is None else kind)


CONVERSATIONS: dict[str, WireChannel] = {
    "host to coordinator: enrol": WireChannel(host_messages.Enrolment),
    "coordinator to host: enrolled": WireChannel(host_messages.Enrolled),
    "coordinator to host: order": WireChannel(host_messages.OrderBody),
    "coordinator to host: orders": WireChannel(host_messages.Orders),
    "coordinator to host: acknowledged": WireChannel(host_messages.Ack),
    "coordinator to host: refusal": WireChannel(host_messages.RefusalMessage),
    "host to coordinator: report": WireChannel(host_messages.Heartbeat),
    "host ledger: done order": WireChannel(host_messages.OrderDone),
    "coordinator row: passive round trip": WireChannel(host_messages.Passive),
    "coordinator row: reasons of a delegation": WireChannel(DecisionReasons),
    "coordinator row: what the strategy has learnt": WireChannel(LearnedState),
    "coordinator row: loads of the day": WireChannel(DayLoads),
    "coordinator row: page to compare": WireChannel(PendingCheck, "json"),
    "host to sandbox: order": WireChannel(inside.GuestCommand),
    "host to sandbox: request": WireChannel(inside.GuestRequest),
    "sandbox to host": WireChannel(inside.GuestMessage),
    "sandbox to host: page seen from here": WireChannel(host_messages.PageObservation, "json"),
    "sandbox to broker": WireChannel(broker.BrokerRequest),
    "broker to sandbox": WireChannel(broker.BrokerReply),
    "host file: slots of code": WireChannel(SlotState, "json"),
    "bundle manifest": WireChannel(BundleManifest, "json"),
    "peer to peer": WireChannel(WireMessage),
    "peer to peer: routed letter": WireChannel(RoutedPayload),
    "network file": WireChannel(NetworkFile, "json"),
    "site hand-over": WireChannel(Chunk),
    "process to process: parcel": WireChannel(MailboxItem),
    "package header": WireChannel(PackageHeader),
    "package record": WireChannel(Record),
    "package columns, format 3": WireChannel(PackageColumns),
    "package columns, formats 1 and 2": WireChannel(EarlierColumns),
    "tree file header": WireChannel(TreeHeader, "json"),
}
