"""Carries python-gitlab's requests to the sandbox's GitLab API in process, without HTTP."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from json import dumps
from typing import Any
from urllib.parse import urlencode

import requests
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict
from requests.utils import requote_uri

Answers = Callable[[str, str, Mapping[str, str], bytes], tuple[int, list[tuple[str, str]], bytes]]
"""As `GitLabApi.answer`: method, address, headers and body to status, headers and body."""


class InProcess(BaseAdapter):
    """A transport of `requests` that calls an API's handlers.

    Args:
        answers: The API.
        changing: Entered around every request that may change something.
    """

    def __init__(
        self,
        answers: Answers,
        changing: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        super().__init__()
        self._answers = answers
        self._changing = changing

    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        """Answer a request."""
        body: Any = request.body or b""
        raw = body.encode() if isinstance(body, str) else body
        method, told = str(request.method), {k: str(v) for k, v in request.headers.items()}
        with nullcontext() if method == "GET" else self._changing():
            status, headers, sent = self._answers(method, request.path_url, told, raw)
        answer = requests.Response()
        answer.status_code, answer.headers = status, CaseInsensitiveDict(headers)
        answer._content = sent  # there is nothing to be read from
        answer.encoding, answer.request = "utf-8", request
        answer.url = str(request.url)
        return answer

    def close(self) -> None:
        """Nothing is open."""


class _Session(requests.Session):
    """A session that prepares a request of JSON for `InProcess` alone.

    What `requests` does besides is about proxies, cookies, redirects and certificates, and takes as
    long as the answer.
    """

    def request(  # type: ignore[override]  # what python-gitlab gives, by name
        self,
        method: str,
        url: str,
        params: Any = None,
        data: Any = None,
        headers: Mapping[str, str] | None = None,
        auth: Any = None,
        json: Any = None,
        **named: Any,
    ) -> requests.Response:
        """Send a request, and take its answer."""
        if data is not None:  # a file in parts
            given: dict[str, Any] = {"params": params, "data": data, "headers": headers}
            return super().request(method, url, auth=auth, **given, **named)
        made = requests.PreparedRequest()
        query = urlencode([(k, v) for k, v in (params or {}).items() if v is not None], doseq=True)
        made.method, made.url = method.upper(), requote_uri(f"{url}?{query}" if query else url)
        made.headers = CaseInsensitiveDict({**self.headers, **(headers or {})})
        made.body = None if json is None else dumps(json, allow_nan=False).encode()
        if auth is not None:
            auth(made)
        return self.get_adapter(url).send(made)


def session(
    answers: Answers, changing: Callable[[], AbstractContextManager[object]] = nullcontext
) -> requests.Session:
    """A session whose requests stay in this process; see `InProcess`."""
    made = _Session()
    made.trust_env = False
    made.mount("http://", InProcess(answers, changing))
    made.mount("https://", InProcess(answers, changing))
    return made
