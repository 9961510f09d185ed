"""Files of other repositories on GitHub, at a commit that their default branch holds."""

import base64
import binascii
from urllib.parse import quote

from bot.forges.github.calls import Calls
from bot.forges.github.http import call
from bot.forges.port import ForgeRefusedError, PinnedFile

_HELD = frozenset({"identical", "behind"})
"""What a branch's comparison with a commit says where the branch holds the commit."""

_WANTED = "read the defaults of the organisation"


class PinnedFiles(Calls):
    """Reads them with the token of this repository's installation."""

    async def pinned_file(self, repository: str, commit: str, path: str, most: int) -> PinnedFile:
        """A file, unless the commit may be a fork's: those are shown under this name as well.

        Source: https://docs.github.com/rest/repos/contents
        """
        place = f"/repos/{quote(repository)}"
        default = str((await call(self._pool, _WANTED, "GET", place)).data["default_branch"])
        basehead = f"{quote(default, safe='')}...{commit}"
        query = {"per_page": 1}
        compared = await call(
            self._pool, _WANTED, "GET", f"{place}/compare/{basehead}", query=query
        )
        if compared.data["status"] not in _HELD:
            return PinnedFile(default, None)
        address = f"{place}/contents/{quote(path)}"
        found = (await call(self._pool, _WANTED, "GET", address, query={"ref": commit})).data
        if not isinstance(found, dict) or found.get("type") != "file":
            raise ForgeRefusedError(_WANTED, f"{path} is no file")
        if int(found["size"]) > most:
            raise ForgeRefusedError(_WANTED, f"{path} has more than {most} bytes")
        try:
            return PinnedFile(default, base64.b64decode(str(found["content"])))
        except binascii.Error as error:
            raise ForgeRefusedError(_WANTED, f"{path} is not told in base64") from error
