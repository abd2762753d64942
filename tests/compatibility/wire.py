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
from ipmicra.protocol.bundle_format import Manifest
from ipmicra.protocol.overlay_messages import RoutedPayload
from ipmicra.protocol.overlay_rpc import WireMessage
from ipmicra.registry.treefile import TreeFileHeader as TreeHeader

Encoding = Literal["msgpack", "json"]


class Conversation(NamedTuple):
    """What is read, and how it is written."""

    kind: Any
    encoding: Encoding = "msgpack"

    def encoded(self, value: Any) -> bytes:
        return msgspec.json.encode(value) if self.encoding == "json" else msgspec.msgpack.encode(value)

    def decoded(self, data: bytes, kind: Any = None) -> Any:
        read = msgspec.json.decode if self.encoding == "json" else msgspec.msgpack.decode
        return read(data, type=self.kind if kind is None else kind)


CONVERSATIONS: dict[str, Conversation] = {
    "host to coordinator: enrol": Conversation(host_messages.Enrolment),
    "coordinator to host: enrolled": Conversation(host_messages.Enrolled),
    "coordinator to host: order": Conversation(host_messages.OrderBody),
    "coordinator to host: orders": Conversation(host_messages.Orders),
    "coordinator to host: acknowledged": Conversation(host_messages.Ack),
    "coordinator to host: refusal": Conversation(host_messages.RefusalMessage),
    "host to coordinator: report": Conversation(host_messages.Heartbeat),
    "host ledger: done order": Conversation(host_messages.OrderDone),
    "coordinator row: passive round trip": Conversation(host_messages.Passive),
    "coordinator row: reasons of a delegation": Conversation(DecisionReasons),
    "coordinator row: what the strategy has learnt": Conversation(LearnedState),
    "coordinator row: loads of the day": Conversation(DayLoads),
    "coordinator row: page to compare": Conversation(PendingCheck, "json"),
    "host to sandbox: order": Conversation(inside.GuestCommand),
    "host to sandbox: request": Conversation(inside.GuestRequest),
    "sandbox to host": Conversation(inside.GuestMessage),
    "sandbox to host: page seen from here": Conversation(host_messages.PageObservation, "json"),
    "sandbox to broker": Conversation(broker.BrokerRequest),
    "broker to sandbox": Conversation(broker.BrokerReply),
    "host file: slots of code": Conversation(SlotState, "json"),
    "bundle manifest": Conversation(Manifest, "json"),
    "peer to peer": Conversation(WireMessage),
    "peer to peer: routed letter": Conversation(RoutedPayload),
    "network file": Conversation(NetworkFile, "json"),
    "site hand-over": Conversation(Chunk),
    "process to process: parcel": Conversation(MailboxItem),
    "package header": Conversation(PackageHeader),
    "package record": Conversation(Record),
    "package columns, format 3": Conversation(PackageColumns),
    "package columns, formats 1 and 2": Conversation(EarlierColumns),
    "tree file header": Conversation(TreeHeader, "json"),
}
