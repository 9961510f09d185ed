"""Files of other projects on GitLab, at a commit that their default branch holds."""

import base64
import binascii

from bot.forges.gitlab.calls import Calls, quoted
from bot.forges.gitlab.http import call
from bot.forges.port import ForgeRefusedError, PinnedFile

_WANTED = "read the defaults of the organisation"


class PinnedFiles(Calls):
    """Reads them with our token."""

    async def pinned_file(self, repository: str, commit: str, path: str, most: int) -> PinnedFile:
        """A file, unless the commit is not one of the default branch.

        Source: https://docs.gitlab.com/api/repositories/#merge-base,
        https://docs.gitlab.com/api/repository_files/
        """
        there = f"/projects/{quoted(repository)}"
        default = str((await call(self._pool, _WANTED, "GET", there)).data["default_branch"])
        query = {"refs[]": [default, commit]}
        held = await call(self._pool, _WANTED, "GET", f"{there}/repository/merge_base", query=query)
        if held.data["id"] != commit:
            return PinnedFile(default, None)
        address = f"{there}/repository/files/{quoted(path)}"
        found = (await call(self._pool, _WANTED, "GET", address, query={"ref": commit})).data
        if int(found["size"]) > most:
            raise ForgeRefusedError(_WANTED, f"{path} has more than {most} bytes")
        try:
            return PinnedFile(default, base64.b64decode(str(found["content"])))
        except binascii.Error as error:
            raise ForgeRefusedError(_WANTED, f"{path} is not told in base64") from error
