"""The parts of Envoy's messages that istioctl sends and reads, built at start by protobuf.

Generated modules are not used: packages with Envoy's messages overwrite files of others. Sources:
envoy/service/discovery/v3/discovery.proto, envoy/service/status/v3/csds.proto, envoy/admin/v3/config_dump_shared.proto.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory, struct_pb2, timestamp_pb2

_PACKAGE: Final = "hosted_mesh.debug_proxy"
_FIELD: Final = descriptor_pb2.FieldDescriptorProto
_KINDS: Final = {"string": _FIELD.TYPE_STRING, "int32": _FIELD.TYPE_INT32}
_KNOWN: Final = (any_pb2.Any, struct_pb2.Struct, timestamp_pb2.Timestamp)
# Message: field -> (number, type). `[]` marks a list; another type is a message of this table or of _KNOWN.
_MESSAGES: Final[dict[str, dict[str, tuple[int, str]]]] = {
    "Node": {"id": (1, "string"), "metadata": (3, "google.protobuf.Struct")},
    "ControlPlane": {"identifier": (1, "string")},
    "DiscoveryRequest": {"resource_names": (3, "string[]"), "type_url": (4, "string")},
    "DiscoveryResponse": {
        "version_info": (1, "string"),
        "resources": (2, "google.protobuf.Any[]"),
        "type_url": (4, "string"),
        "nonce": (5, "string"),
        "control_plane": (6, "ControlPlane"),
    },
    "UpdateFailureState": {"last_update_attempt": (2, "google.protobuf.Timestamp"), "details": (3, "string")},
    "GenericXdsConfig": {
        "type_url": (1, "string"),
        "last_updated": (5, "google.protobuf.Timestamp"),
        "config_status": (6, "int32"),  # an enum has the same encoding
        "error_state": (8, "UpdateFailureState"),
    },
    "ClientConfig": {"node": (1, "Node"), "generic_xds_configs": (3, "GenericXdsConfig[]")},
}


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="debug_proxy.proto", package=_PACKAGE, syntax="proto3")
    file.dependency.extend(one.DESCRIPTOR.file.name for one in _KNOWN)
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, written) in fields.items():
            kind = written.removesuffix("[]")
            label = _FIELD.LABEL_REPEATED if written.endswith("[]") else _FIELD.LABEL_OPTIONAL
            added = message.field.add(name=field, number=number, label=label)
            if kind in _KINDS:
                added.type = _KINDS[kind]
            else:
                added.type = _FIELD.TYPE_MESSAGE
                added.type_name = f".{kind}" if "." in kind else f".{_PACKAGE}.{kind}"
    return file


def _pool() -> descriptor_pool.DescriptorPool:
    pool = descriptor_pool.DescriptorPool()
    for one in _KNOWN:
        pool.AddSerializedFile(one.DESCRIPTOR.file.serialized_pb)
    pool.Add(_file())
    return pool


_POOL: Final = _pool()


def _class(name: str) -> Any:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{_PACKAGE}.{name}"))


DiscoveryRequest: Final = _class("DiscoveryRequest")
DiscoveryResponse: Final = _class("DiscoveryResponse")
ClientConfig: Final = _class("ClientConfig")
CLIENT_CONFIG: Final = "type.googleapis.com/envoy.service.status.v3.ClientConfig"
SYNCED, NOT_SENT, STALE, ERROR = 1, 2, 3, 4
"""envoy.service.status.v3.ConfigStatus."""
