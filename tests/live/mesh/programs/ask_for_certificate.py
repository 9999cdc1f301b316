"""Asks istiod for a certificate as a proxy does: address, name, file of the root, token, cluster, and whose instead.

Prints the names in it, or gRPC's code. The messages are Istio's security/v1alpha1/ca.proto, in parts that every Python
with gRPC has: StringValue and FieldMask have their strings in the field of the same number.
"""

import sys
from pathlib import Path
from typing import Any

import grpc
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.struct_pb2 import Struct
from google.protobuf.wrappers_pb2 import StringValue

address, name, root, token, cluster, *instead = sys.argv[1:]
key = ec.generate_private_key(ec.SECP256R1())
request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, SHA256())
metadata = Struct()
if instead:
    metadata.update({"ImpersonatedIdentity": instead[0]})
more = metadata.SerializeToString()
assert len(more) < 128, "its length is one byte"
message = (
    StringValue(value=request.public_bytes(Encoding.PEM).decode()).SerializeToString()
    + bytes([4 << 3 | 2, len(more)])
    + more
)
channel = grpc.secure_channel(
    address,
    grpc.ssl_channel_credentials(Path(root).read_bytes()),
    [("grpc.ssl_target_name_override", name), ("grpc.enable_http_proxy", 0)],
)
create: Any = channel.unary_unary(
    "/istio.v1.auth.IstioCertificateService/CreateCertificate", response_deserializer=FieldMask.FromString
)
try:
    answer = create(message, timeout=20, metadata=[("authorization", f"Bearer {token}"), ("clusterid", cluster)])
except grpc.RpcError as refused:
    print(refused.code().name)
else:
    certificate = x509.load_pem_x509_certificate(answer.paths[0].encode())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    print(*(one.value for one in names))
