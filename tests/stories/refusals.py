"""How the forges' clients tell people that they may not."""

from github import GithubException
from gitlab.exceptions import GitlabError

REFUSALS = (GithubException, GitlabError)
