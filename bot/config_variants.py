"""The part of `.porchbot.yaml` about variants: where their files are, and what their names mean."""

import re
from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import AfterValidator, Field, model_validator

from cadlib.forms import Strict, wrong
from lifecycle.messages import variants as texts
from lifecycle.policy import NamedRepository, ObjectFolder, VariantUse

_FILES: Final = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.-]*/)+[A-Za-z0-9_*.-]+")
_FOLDER: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,17}")
MOST_NAME: Final = 253
"""Characters of a name that rules have for a repository, as for that of a resource.

Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
"""
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}(/[A-Za-z0-9_.-]{1,100}){1,20}")


def _files(text: str) -> str:
    if not _FILES.fullmatch(text):
        raise wrong(*texts.bad_files(text))
    return text


def _folder(text: str) -> str:
    if not _FOLDER.fullmatch(text):
        raise wrong(*texts.bad_folder(text))
    return text


def _repository(text: str) -> str:
    if not _REPOSITORY.fullmatch(text) or not {".", ".."}.isdisjoint(text.split("/")):
        raise wrong(*texts.bad_repository(text))
    return text


def _name(text: str) -> str:
    if not 0 < len(text) <= MOST_NAME:
        raise wrong(*texts.long_name(len(text), MOST_NAME))
    return text


def _source(text: str) -> str:
    name, mark, number = text.partition("#")
    if mark and not _NUMBER.fullmatch(number):
        raise wrong(*texts.bad_repository(text))
    return f"{_repository(name)}{mark}{number}"


NameInRules = Annotated[str, AfterValidator(_name)]
FilesOfVariants = Annotated[str, AfterValidator(_files), Field(max_length=500)]
RepositoryName = Annotated[str, AfterValidator(_repository)]
SourceName = Annotated[str, AfterValidator(_source)]


class RepositoryOfVariants(Strict):
    """A repository that variants refer to by this name."""

    repository: RepositoryName | None = None
    """Its full name, such as `acme/live`. Default: this repository."""

    branch: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Branch that its packages are published from. Default: its default branch."""

    directory: Annotated[str, AfterValidator(_folder), Field(max_length=500)] | None = None
    """Folder that paths of packages begin in. Default: the whole repository."""

    labels: Annotated[dict[str, str], Field(max_length=100)] = Field(default={})
    """Labels that a `repositorySelector` can match. Topics that it has at the forge are labels as
    well: `edge` is `topic.porchbot.dev/edge: "true"`."""


class ObjectsOfVariants(Strict):
    """A folder with resources that variants may select and inject."""

    repository: RepositoryName | None = None
    """Full name of another repository that has it. That one lists this repository, and those of
    the packages, in `upstreams.share`. Default: this one."""

    branch: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Branch of that other repository, which publishes packages from it; its tip is read. Default:
    its default branch. What this repository has itself is read where these rules stand."""

    directory: Annotated[str, AfterValidator(_folder), Field(max_length=500)]
    """The folder."""

    namespace: Annotated[str, Field(max_length=63)] = "default"
    """Namespace for resources that name none."""

    @model_validator(mode="after")
    def _of_another_repository(self) -> "ObjectsOfVariants":
        if self.branch is not None and self.repository is None:
            raise wrong(*texts.branch_of_own_objects())
        return self


def use(
    files: Sequence[str],
    sources: Sequence[str],
    repositories: dict[str, RepositoryOfVariants],
    objects: Sequence[ObjectsOfVariants],
) -> VariantUse:
    """Return what is configured, as the lifecycle knows it."""
    return VariantUse(
        files=tuple(files),
        sources=tuple(sources),
        repositories={
            name: NamedRepository(
                each.repository or "", each.labels, each.branch or "", each.directory or ""
            )
            for name, each in repositories.items()
        },
        objects=tuple(
            ObjectFolder(each.directory, each.namespace, each.repository or "", each.branch or "")
            for each in objects
        ),
    )
