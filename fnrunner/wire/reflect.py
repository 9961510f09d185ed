"""Lets any client ask the runner which services and messages it has: gRPC's server reflection."""

from typing import Final

import grpc
import grpc.aio
from grpc_reflection.v1alpha import (
    reflection,
    reflection_pb2,
    reflection_pb2_grpc,
)

_SERVICES: Final = ("evaluator.FunctionEvaluator", "grpc.health.v1.Health")
_METHOD: Final = "ServerReflectionInfo"
_NEWER: Final = "grpc.reflection.v1.ServerReflection"


def serve(server: grpc.aio.Server) -> None:
    """Put reflection on a server that has the runner's services."""
    names = (*_SERVICES, _NEWER, reflection.SERVICE_NAME)
    servicer = reflection.aio.ReflectionServicer(names)  # type: ignore[attr-defined] # imported there
    reflection_pb2_grpc.add_ServerReflectionServicer_to_server(servicer, server)
    # The library has v1alpha only, and newer clients ask for v1; the messages are the same.
    info = grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(_NEWER, {_METHOD: info}),)
    )
