"""Files of other projects on GitLab, at a commit that their default branch holds."""

import base64
import binascii

from bot.forges.gitlab.calls import Calls, quoted
from bot.forges.gitlab.http import ASK_OPERATOR, ask, call, failure
from bot.forges.gitlab.limits import Cost
from bot.forges.port import ForgeMissingError, ForgeRefusedError, PinnedFile

_WANTED = "read the defaults of the organisation"
_SMALLER = "Make it smaller"


class PinnedFiles(Calls):
    """Reads them with our token."""

    async def pinned_file(self, repository: str, commit: str, path: str, most: int) -> PinnedFile:
        """A file, unless the commit is not one of the default branch.

        Source: https://docs.gitlab.com/api/repositories/#merge-base,
        https://docs.gitlab.com/api/repository_files/
        """
        there = f"/projects/{quoted(repository)}"
        default = str((await call(self._pool, _WANTED, "GET", there)).data["default_branch"])
        if not await self._holds(there, default, commit):
            return PinnedFile(default, None)
        address = f"{there}/repository/files/{quoted(path)}"
        found = (await call(self._pool, _WANTED, "GET", address, query={"ref": commit})).data
        if int(found["size"]) > most:
            raise ForgeRefusedError(_WANTED, f"{path} has more than {most} bytes", _SMALLER)
        try:
            return PinnedFile(default, base64.b64decode(str(found["content"])))
        except binascii.Error as error:
            raise ForgeRefusedError(
                _WANTED, f"{path} is not told in base64", ASK_OPERATOR
            ) from error

    async def _holds(self, there: str, branch: str, commit: str) -> bool:
        """Whether a branch holds a commit; GitLab answers 400 to one that it does not have."""
        path, query = f"{there}/repository/merge_base", {"refs[]": [branch, commit]}
        answer = await self._pool.run(Cost.REQUEST, _WANTED, ask, _WANTED, "GET", path, query=query)
        if answer.status == 400 and "find ref" in answer.reason:
            raise ForgeMissingError(_WANTED, answer.reason, ASK_OPERATOR)
        if not answer.ok:
            raise failure(_WANTED, answer)
        return bool(answer.data["id"] == commit)
