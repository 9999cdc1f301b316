"""The parts of Envoy's and OpenTelemetry's messages that the collector reads, built at start by protobuf.

Generated modules are not used: packages with Envoy's messages lack the metrics service, or overwrite files of others.
Sources: envoy/service/metrics/v3/metrics_service.proto, io/prometheus/client/metrics.proto,
opentelemetry/proto/collector/logs/v1/logs_service.proto, opentelemetry/proto/collector/trace/v1/trace_service.proto.
Unlisted fields are skipped when a message is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE: Final = "hosted_mesh.collector"
_SPAN_PACKAGE: Final = "hosted_mesh.collector.spans"
_FIELD: Final = descriptor_pb2.FieldDescriptorProto
_KINDS: Final = {
    "string": _FIELD.TYPE_STRING,
    "bytes": _FIELD.TYPE_BYTES,
    "bool": _FIELD.TYPE_BOOL,
    "double": _FIELD.TYPE_DOUBLE,
    "int64": _FIELD.TYPE_INT64,
    "uint64": _FIELD.TYPE_UINT64,
    "int32": _FIELD.TYPE_INT32,
    "uint32": _FIELD.TYPE_UINT32,
    "fixed32": _FIELD.TYPE_FIXED32,
    "fixed64": _FIELD.TYPE_FIXED64,
}
_Messages = Mapping[str, Mapping[str, tuple[int, str]]]
# Message: field -> (number, type). `[]` marks a list; a type that is not in _KINDS is a message of this table.
_MESSAGES: Final[_Messages] = {
    "Node": {"id": (1, "string")},
    "Identifier": {"node": (1, "Node")},
    "LabelPair": {"name": (1, "string"), "value": (2, "string")},
    "Counter": {"value": (1, "double")},
    "Bucket": {"cumulative_count": (1, "uint64"), "upper_bound": (2, "double")},
    "Histogram": {"sample_count": (1, "uint64"), "sample_sum": (2, "double"), "bucket": (3, "Bucket[]")},
    "Metric": {"label": (1, "LabelPair[]"), "counter": (3, "Counter"), "histogram": (7, "Histogram")},
    "MetricFamily": {"name": (1, "string"), "type": (3, "int32"), "metric": (4, "Metric[]")},
    "StreamMetricsMessage": {"identifier": (1, "Identifier"), "envoy_metrics": (2, "MetricFamily[]")},
    "AnyValue": {"string_value": (1, "string")},
    "KeyValue": {"key": (1, "string"), "value": (2, "AnyValue")},
    "LogRecord": {"attributes": (6, "KeyValue[]")},
    "ScopeLogs": {"log_records": (2, "LogRecord[]")},
    "ResourceLogs": {"scope_logs": (2, "ScopeLogs[]")},
    "ExportLogsServiceRequest": {"resource_logs": (1, "ResourceLogs[]")},
}
# All of a span, because it is sent on. Lists and maps as values of attributes are left out: Envoy has none.
_SPAN_MESSAGES: Final[_Messages] = {
    "AnyValue": {
        "string_value": (1, "string"),
        "bool_value": (2, "bool"),
        "int_value": (3, "int64"),
        "double_value": (4, "double"),
        "bytes_value": (7, "bytes"),
    },
    "KeyValue": {"key": (1, "string"), "value": (2, "AnyValue")},
    "Resource": {"attributes": (1, "KeyValue[]")},
    "Event": {"time_unix_nano": (1, "fixed64"), "name": (2, "string"), "attributes": (3, "KeyValue[]")},
    "Link": {
        "trace_id": (1, "bytes"),
        "span_id": (2, "bytes"),
        "trace_state": (3, "string"),
        "attributes": (4, "KeyValue[]"),
        "flags": (6, "fixed32"),
    },
    "Status": {"message": (2, "string"), "code": (3, "int32")},
    "Span": {
        "trace_id": (1, "bytes"),
        "span_id": (2, "bytes"),
        "trace_state": (3, "string"),
        "parent_span_id": (4, "bytes"),
        "name": (5, "string"),
        "kind": (6, "int32"),
        "start_time_unix_nano": (7, "fixed64"),
        "end_time_unix_nano": (8, "fixed64"),
        "attributes": (9, "KeyValue[]"),
        "dropped_attributes_count": (10, "uint32"),
        "events": (11, "Event[]"),
        "dropped_events_count": (12, "uint32"),
        "links": (13, "Link[]"),
        "dropped_links_count": (14, "uint32"),
        "status": (15, "Status"),
        "flags": (16, "fixed32"),
    },
    "ScopeSpans": {"spans": (2, "Span[]")},
    "ResourceSpans": {"resource": (1, "Resource"), "scope_spans": (2, "ScopeSpans[]")},
    "ExportTraceServiceRequest": {"resource_spans": (1, "ResourceSpans[]")},
    "ExportTracePartialSuccess": {"rejected_spans": (1, "int64"), "error_message": (2, "string")},
    "ExportTraceServiceResponse": {"partial_success": (1, "ExportTracePartialSuccess")},
}


def _file(package: str, syntax: str, messages: _Messages) -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax=syntax)
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        is_choice = name == "AnyValue"
        if is_choice:
            message.oneof_decl.add(name="value")
        for field, (number, written) in fields.items():
            kind = written.removesuffix("[]")
            label = _FIELD.LABEL_REPEATED if written.endswith("[]") else _FIELD.LABEL_OPTIONAL
            added = message.field.add(name=field, number=number, label=label)
            if is_choice:
                added.oneof_index = 0
            if kind in _KINDS:
                added.type = _KINDS[kind]
            else:
                added.type, added.type_name = _FIELD.TYPE_MESSAGE, f".{package}.{kind}"
    return file


_POOL: Final = descriptor_pool.DescriptorPool()
# proto2, so that `HasField` works: Envoy's metrics are proto2. proto3 rejects text that is not UTF-8, as backends do.
_POOL.Add(_file(_PACKAGE, "proto2", _MESSAGES))
_POOL.Add(_file(_SPAN_PACKAGE, "proto3", _SPAN_MESSAGES))


def _class(name: str, package: str = _PACKAGE) -> Any:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{package}.{name}"))


StreamMetricsMessage: Final = _class("StreamMetricsMessage")
ExportLogsServiceRequest: Final = _class("ExportLogsServiceRequest")
ExportTraceServiceRequest: Final = _class("ExportTraceServiceRequest", _SPAN_PACKAGE)
ExportTraceServiceResponse: Final = _class("ExportTraceServiceResponse", _SPAN_PACKAGE)
COUNTER, HISTOGRAM = 0, 4
"""MetricFamily.type. Envoy also sends gauges (1) and summaries (2), which are skipped."""
