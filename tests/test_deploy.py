"""The files in deploy/: valid, closed where they can be, and naming what the bot has.

That they start something is for a cluster and for Docker to show; what can be said without is said
here: schemas, settings, commands, and who sees which secret.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import pytest
from ruamel.yaml import YAML
from starlette.routing import Route

from bot.cli.root import main
from bot.http import web
from bot.http.ready import Readiness
from bot.render.workers.capacity import BESIDE, LEAST_BYTES, worker_limits
from bot.settings import Settings
from bot.variables import VARIABLES
from cadlib.limits import MIB
from tests.memory.store import MemoryStore

DEPLOY = Path(__file__).resolve().parents[1] / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
HELP = {"PORCHBOT_IMAGE", "POSTGRES_PASSWORD", "POSTGRES_USER", "POSTGRES_DB"}


def _documents(path: Path) -> list[Any]:
    return list(YAML(typ="safe").load_all(path))


def _objects() -> list[Any]:
    files = sorted(KUBERNETES.glob("*.yaml"))
    return [d for path in files for d in _documents(path) if d["kind"] != "Kustomization"]


def _pods() -> Iterator[tuple[str, Mapping[str, Any]]]:
    for each in _objects():
        if each["kind"] == "Deployment":
            yield each["metadata"]["name"], each["spec"]["template"]["spec"]


def _containers() -> Iterator[tuple[str, Mapping[str, Any]]]:
    for _, pod in _pods():
        yield from ((each["name"], each) for each in pod["containers"])


def _is_a_command(arguments: Sequence[str]) -> None:
    """Fails when the command line knows no such command or option."""
    with click.Context(main) as context:
        command = main.get_command(context, arguments[0])
        assert command is not None, arguments
        command.make_context(arguments[0], [str(each) for each in arguments[1:]])


def test_kubernetes_accepts_each_object(tmp_path: Path) -> None:
    """Fails when a field is misspelled: an API server drops it, and says so to nobody."""
    for each in KUBERNETES.glob("*.yaml"):
        shutil.copy(each, tmp_path)
    command = [
        sys.executable,
        "-m",
        "bot.cli",
        "fn",
        "eval",
        str(tmp_path),
        "--truncate-output=false",
    ]
    command += ["--image", "kubeconform:v0.1", "--", "strict=true"]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    kinds = {each["kind"] for each in _objects()}
    assert kinds >= {"Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy"}


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl, which has kustomize in it")
def test_kustomize_builds_it() -> None:
    command = ["kubectl", "kustomize", str(KUBERNETES)]
    built = subprocess.run(command, capture_output=True, check=True).stdout
    objects = list(YAML(typ="safe").load_all(built))

    images = re.findall(r"image: (\S+)", built.decode())
    assert {each["metadata"].get("namespace", "porchbot") for each in objects} == {"porchbot"}
    assert set(images) == {"registry.corp/porchbot:v1"}


@pytest.mark.parametrize(
    ("name", "container"), list(_containers()), ids=lambda each: str(each)[:20]
)
def test_a_container_is_closed_and_watched(name: str, container: Mapping[str, Any]) -> None:
    """Fails when one may write its root, gain rights, use all memory, or hang unseen."""
    security = container["securityContext"]
    assert security["readOnlyRootFilesystem"], name
    assert not security["allowPrivilegeEscalation"]
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert "memory" in container["resources"]["limits"]
    assert {"startupProbe", "livenessProbe"} <= set(container)
    # Where the image lets the bot write.
    mounted = {each["mountPath"] for each in container["volumeMounts"]}
    assert {"/tmp"} < mounted  # of the container
    _is_a_command(container["args"])


@pytest.mark.parametrize(("name", "pod"), list(_pods()), ids=lambda each: str(each)[:20])
def test_a_pod_is_nobody(name: str, pod: Mapping[str, Any]) -> None:
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["runAsUser"] == 10001
    assert pod["automountServiceAccountToken"] is False, name
    assert pod["terminationGracePeriodSeconds"] >= 30  # docs/operate/replicas.md


def _worker_limits() -> list[int]:
    """Bytes that a worker may have, in each way to run it."""
    (compose,) = _documents(DEPLOY / "compose.yaml")
    written = [
        str(dict(_containers())["worker"]["resources"]["limits"]["memory"]),
        str(compose["services"]["worker"]["mem_limit"]),
    ]
    return [int(each.rstrip("Gig")) * 1024 * MIB for each in written]


@pytest.mark.parametrize("limit", _worker_limits())
def test_what_is_rendered_fits_into_a_worker_with_the_bot(limit: int) -> None:
    """Fails when a hostile package has the kernel end the bot: a pod's processes end together."""
    for cores in (1, 2, 8, 64):
        most, memory_bytes = worker_limits(cores, limit)
        assert most * memory_bytes + BESIDE <= limit
        assert memory_bytes >= LEAST_BYTES


def test_secrets_beside_the_compose_file_go_nowhere() -> None:
    """Fails when they are built into a layer, or added to the repository with everything else."""
    (compose,) = _documents(DEPLOY / "compose.yaml")
    kept = {Path(each["file"]).name for each in compose["secrets"].values()} | {"porchbot.env"}
    for name in (".dockerignore", ".gitignore"):
        lines = (DEPLOY.parent / name).read_text().splitlines()
        assert all(any(Path(f"deploy/{k}").match(line) for line in lines) for k in kept), name


def test_functions_run_where_no_secret_is() -> None:
    """Fails when code of packages runs beside the App's key or the database's password."""
    runner = dict(_containers())["runner"]
    assert not {"env", "envFrom"} & set(runner)
    assert "secrets" not in {each["name"] for each in runner["volumeMounts"]}

    (compose,) = _documents(DEPLOY / "compose.yaml")
    service = compose["services"]["runner"]
    assert service["network_mode"] == "none"
    assert not {"env_file", "environment", "secrets"} & set(service)


def test_each_deployment_has_several_replicas_and_a_budget() -> None:
    objects = _objects()
    budgets = [
        each["spec"]["selector"]["matchLabels"]
        for each in objects
        if each["kind"] == "PodDisruptionBudget"
    ]
    for each in objects:
        if each["kind"] == "Deployment":
            assert each["spec"]["replicas"] >= 2
            assert each["spec"]["template"]["metadata"]["labels"] in budgets


def test_each_deployment_reaches_and_is_reached_at_named_ports_only() -> None:
    """Fails when pods have all of the network, so that code of a package talks to whom it likes;
    or when a port that a container serves, or PostgreSQL, is closed."""
    objects = _objects()
    policies = {
        str(each["spec"]["podSelector"]["matchLabels"]): each["spec"]
        for each in objects
        if each["kind"] == "NetworkPolicy"
    }
    deployments = [each["spec"]["template"] for each in objects if each["kind"] == "Deployment"]
    assert len(deployments) == len(policies) == 2
    for template in deployments:
        policy = policies[str(template["metadata"]["labels"])]
        assert set(policy["policyTypes"]) == {"Ingress", "Egress"}
        served = {
            p["containerPort"] for c in template["spec"]["containers"] for p in c.get("ports", ())
        }
        assert _ports(policy["ingress"]) == served
        assert _ports(policy["egress"]) == {53, 443, 5432}


def _ports(rules: Sequence[Mapping[str, Any]]) -> set[int]:
    """Ports of a policy's rules; a rule without any would open all."""
    assert all(rule.get("ports") for rule in rules)
    return {port["port"] for rule in rules for port in rule["ports"]}


def test_settings_are_those_of_the_bot() -> None:
    """Fails when a setting was renamed: the bot would run with its default, or not at all."""
    written = "\n".join(each.read_text() for each in sorted(DEPLOY.rglob("*")) if each.is_file())
    named = set(re.findall(r"\b(?:PORCHBOT|POSTGRES)_\w+|\bDATABASE_URL\b", written))
    assert named - HELP <= set(VARIABLES)
    for needed in ("PORCHBOT_GITHUB_APP_ID", "DATABASE_URL", "PORCHBOT_RUNNER_ADDRESS"):
        assert needed in named


def test_commands_of_the_compose_file_are_those_of_the_bot() -> None:
    (compose,) = _documents(DEPLOY / "compose.yaml")
    commands = [each["command"] for each in compose["services"].values() if "command" in each]
    assert len(commands) == 3
    for command in commands:
        _is_a_command(command)


def test_probes_ask_for_what_the_bot_answers() -> None:
    """Fails when a route was renamed: each container would be killed for ever."""
    written = "\n".join(each.read_text() for each in sorted(DEPLOY.rglob("*.yaml")))
    asked = set(re.findall(r"path: (/\w+), port: http\b|:8080(/\w+)'", written))
    settings = Settings(github_app_id="1", private_key="", webhook_secrets=())
    served = web.app(settings, MemoryStore(), Readiness({}), [])
    routes = {route.path for route in served.routes if isinstance(route, Route)}
    assert {one or other for one, other in asked} == {"/healthz", "/readyz"}
    assert {"/healthz", "/readyz", "/metrics"} <= routes


def test_a_process_of_the_compose_file_may_write_to_its_state() -> None:
    """Fails when only workers may: with the authorities of two forges each process writes there."""
    (compose,) = _documents(DEPLOY / "compose.yaml")
    for name in ("web", "worker"):
        service = compose["services"][name]
        state = service["environment"]["PORCHBOT_STATE"]
        written = [*service["tmpfs"], *service.get("volumes", ())]
        at = [each.split(":")[1] if each.count(":/") else each.split(":")[0] for each in written]
        assert {"/tmp", state} <= set(at), name


def test_the_database_is_healthy_once_others_reach_it() -> None:
    """Fails when asked by its socket, at which it answers while it is still being prepared."""
    (compose,) = _documents(DEPLOY / "compose.yaml")
    (_, command) = compose["services"]["database"]["healthcheck"]["test"]
    assert "--host 127.0.0.1" in command


def test_the_guide_gives_each_compose_command_its_variables() -> None:
    """Fails when one that starts or replaces services would stop for want of the password."""
    page = (DEPLOY.parent / "docs" / "operate" / "README.md").read_text()
    assert set(re.findall(r"docker compose (\S+ \S+)", page)) == {"--env-file porchbot.env"}
