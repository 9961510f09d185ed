from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class EvaluateFunctionRequest(_message.Message):
    __slots__ = ("resource_list", "image")
    RESOURCE_LIST_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    resource_list: bytes
    image: str
    def __init__(self, resource_list: _Optional[bytes] = ..., image: _Optional[str] = ...) -> None: ...

class ConfigMap(_message.Message):
    __slots__ = ("data",)
    class DataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    DATA_FIELD_NUMBER: _ClassVar[int]
    data: _containers.ScalarMap[str, str]
    def __init__(self, data: _Optional[_Mapping[str, str]] = ...) -> None: ...

class EvaluateFunctionResponse(_message.Message):
    __slots__ = ("resource_list", "log")
    RESOURCE_LIST_FIELD_NUMBER: _ClassVar[int]
    LOG_FIELD_NUMBER: _ClassVar[int]
    resource_list: bytes
    log: bytes
    def __init__(self, resource_list: _Optional[bytes] = ..., log: _Optional[bytes] = ...) -> None: ...
