"""A session of `requests` whose requests are answered by a function, without a network."""

from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any

import requests
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict
from urllib3 import HTTPResponse

Handler = Callable[[str, str, Mapping[str, str], bytes], tuple[int, Mapping[str, str], bytes]]
"""Given verb, path with query, headers and body; gives status, headers and body."""


class InProcess(BaseAdapter):
    """Has a function answer, such as `answer` of a sandbox forge's API."""

    def __init__(self, handler: Handler) -> None:
        super().__init__()
        self._handler = handler

    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        """Answer a request."""
        raw: Any = request.body or b""
        headers = {name.lower(): str(value) for name, value in request.headers.items()}
        status, told, body = self._handler(
            str(request.method),
            request.path_url,
            headers,
            raw.encode() if isinstance(raw, str) else raw,
        )
        answer = requests.Response()
        answer.status_code, answer.request, answer.url = status, request, str(request.url)
        answer.headers = CaseInsensitiveDict(told)
        answer.raw = HTTPResponse(BytesIO(body), preload_content=False)
        answer.encoding = "utf-8"
        return answer

    def close(self) -> None:
        """Nothing is open."""


def session(handler: Handler) -> requests.Session:
    """A session that has a function answer everything."""
    made = requests.Session()
    made.trust_env = False
    for scheme in ("http://", "https://"):
        made.mount(scheme, InProcess(handler))
    return made
