"""Images in pods: a stand-in for a cluster, Kubernetes' own client, and real servers.

Longer than 400 lines: one stand-in for a cluster, and what it may do.
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from fnrunner import choose
from fnrunner.contract.errors import (
    ClusterError,
    FunctionFailedError,
    FunctionNotFoundError,
    FunctionRefusedError,
    FunctionStoppedError,
    FunctionUnavailableError,
)
from fnrunner.contract.run import MIB, FunctionOutcome, Granted, ResourceLimits
from fnrunner.images.names import RegistryAccess
from fnrunner.pods import runner as pods
from fnrunner.pods.group import Pod
from fnrunner.pods.manifest import DIGEST, INSTANCE, NETWORK, SPEC
from fnrunner.pods.runner import PodRunner
from fnrunner.settings import FunctionImages, PodRule, RunnerSettings, read
from fnrunner.settings_form import PodsForm
from tests.fnrunner.kubernetes import NAMESPACE, Cluster, cluster
from tests.fnrunner.registry import Image, Registry, files, program, registry

pytestmark = [
    pytest.mark.skipif(
        program("docker-registry") is None, reason="there is no docker-registry; see tests/tools.sh"
    ),
    pytest.mark.skipif(
        importlib.util.find_spec("kubernetes") is None, reason="the extra kubernetes is missing"
    ),
]

LIST = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"


def sh(script: str, **config: Any) -> Image:
    """An image whose program is a script."""
    return Image([files({})], {"Entrypoint": ["/bin/sh", "-c", script], **config})


COPY = sh("echo $PPID >&2; cat")


@pytest.fixture(scope="module")
def hub() -> Iterator[Registry]:
    with registry() as running:
        yield running


@pytest.fixture
def kube(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with cluster(tmp_path) as (found, config):
        monkeypatch.setenv("KUBECONFIG", str(config))
        monkeypatch.setattr(pods, "_HURRY_SECONDS", 0.05)
        monkeypatch.setattr(pods, "_LOOK_SECONDS", 0.2)
        yield found


Start = Callable[..., Any]


@pytest.fixture
async def start(kube: Cluster) -> AsyncIterator[Start]:
    """Starts runners, and closes them."""
    async with AsyncExitStack() as stack:

        async def started(**form: Any) -> PodRunner:
            settings = settings_of(**form)
            return await stack.enter_async_context(
                pods.running(settings, RegistryAccess(private=True))
            )

        yield started


def settings_of(**given: Any) -> RunnerSettings:
    usual = RunnerSettings()
    rules = given.pop("rules", ())
    policy = given.pop("policy", usual.policy)
    warm = given.pop("warm", ())
    form = PodsForm(namespace=NAMESPACE, server="registry.example/porchbot:v1", **given)
    return replace(
        usual,
        form=usual.form.model_copy(update={"pods": form}),
        policy=policy,
        pods=rules,
        warm=warm,
    )


def server(outcome: FunctionOutcome) -> str:
    """The process that served a call to `COPY`."""
    return outcome.log.strip()


async def until(true: Callable[[], bool]) -> None:
    for _ in range(1200):
        if true():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it does not come true")


# -- calls ----------------------------------------------------------------------------------------


async def test_an_image_runs_by_its_digest_with_what_it_asks_for(
    hub: Registry, kube: Cluster, start: Start
) -> None:
    """Fails where the pod is given the tag, or the program what a pod has besides: its variables,
    and Kubernetes' `$(NAME)` in place of the image's own words."""
    script = 'echo "$LEVEL,$REGION,$SECRET_OF_THE_POD,$HOME,$0" >&2; cat'
    digest = hub.push(
        "team/words:v1",
        Image(
            [files({})],
            {
                "Entrypoint": ["/bin/sh", "-c", script],
                "Cmd": ["$(HOME) $$ $"],
                "Env": ["LEVEL=high", "REGION=us"],
            },
        ),
    )
    runner = await start(
        policy=replace(RunnerSettings().policy, usual=Granted(environment={"REGION": "eu $(X)"}))
    )

    outcome = await runner.run(f"{hub.host}/team/words:v1", LIST)

    assert outcome == FunctionOutcome(LIST, "high,eu $(X),,/tmp,$(HOME) $$ $\n", digest=digest)
    (made,) = kube.made
    assert made["spec"]["containers"][0]["image"] == f"{hub.host}/team/words@{digest}"
    assert await runner.identity(f"{hub.host}/team/words:v1") == digest


async def test_one_pod_answers_calls_one_after_another(
    hub: Registry, kube: Cluster, start: Start
) -> None:
    """Fails where every call starts a pod."""
    hub.push("team/copy:v1", COPY)
    runner = await start()

    found = [await runner.run(f"{hub.host}/team/copy:v1", LIST) for _ in range(3)]

    assert len({server(each) for each in found}) == len(kube.made) == 1


async def test_a_function_that_objects_is_an_outcome(hub: Registry, start: Start) -> None:
    """Fails where a refusal counts as a pod that went away, and is run again."""
    hub.push(
        "team/no:v1",
        sh("cat; echo 'results: [{message: no good, severity: error}]'; echo why >&2; exit 7"),
    )
    runner = await start()

    outcome = await runner.run(f"{hub.host}/team/no:v1", LIST)

    assert outcome.failed
    assert outcome.results == ({"message": "no good", "severity": "error"},)
    assert outcome.log == "why\n"


async def test_what_is_no_answer_is_told(hub: Registry, kube: Cluster, start: Start) -> None:
    hub.push("team/mute:v1", sh("echo nothing to say >&2"))
    runner = await start()

    with pytest.raises(FunctionFailedError, match="nothing to say"):
        await runner.run(f"{hub.host}/team/mute:v1", LIST)
    assert len(kube.names()) == 1  # the pod is none the worse


async def test_names_are_held_against_policy_and_registry(
    hub: Registry, kube: Cluster, start: Start
) -> None:
    hub.push("team/copy:v1", COPY)
    runner = await start(policy=replace(RunnerSettings().policy, allow=(f"{hub.host}/team/*",)))

    with pytest.raises(FunctionRefusedError, match="not among the functions allowed"):
        await runner.run(f"{hub.host}/other/copy:v1", LIST)
    with pytest.raises(FunctionNotFoundError):
        await runner.run(f"{hub.host}/team/none:v1", LIST)
    hub.push("team/empty:v1", Image([files({})], {}))
    with pytest.raises(FunctionRefusedError, match="has no entrypoint and no command"):
        await runner.run(f"{hub.host}/team/empty:v1", LIST)
    assert kube.made == []


# -- how many -------------------------------------------------------------------------------------


async def test_calls_that_wait_bring_another_pod_and_share_both(
    hub: Registry, kube: Cluster, start: Start, tmp_path: Path
) -> None:
    """Fails where the first pod gets all calls, or where every call gets a pod of its own."""
    go = tmp_path / "go"
    hub.push("team/slow:v1", sh(f"echo $PPID >&2; until [ -e {go} ]; do sleep 0.05; done; cat"))
    runner = await start(most=2, queue=1)
    image = f"{hub.host}/team/slow:v1"

    async def calls(count: int, come: Callable[[], bool]) -> list[FunctionOutcome]:
        """They end when something is so."""
        go.unlink(missing_ok=True)
        asked = [asyncio.create_task(runner.run(image, LIST, seconds=600)) for _ in range(count)]
        await until(come)
        go.touch()
        return list(await asyncio.gather(*asked))

    def pods_of_it() -> list[Pod]:
        return [pod for group in runner._groups.values() for pod in group.pods]

    await calls(3, lambda: len(kube.made) == 2)
    await until(lambda: all(group.settled for group in runner._groups.values()))
    found = await calls(8, lambda: sum(pod.load for pod in pods_of_it()) == 8)

    assert len(kube.made) == 2
    by_pod = [server(each) for each in found]
    assert sorted(map(by_pod.count, set(by_pod))) == [4, 4]


async def test_a_rule_for_a_function_counts_over_the_usual_one(
    hub: Registry, kube: Cluster, start: Start
) -> None:
    hub.push("team/slow:v1", sh("sleep 0.2; cat"))
    image = f"{hub.host}/team/slow"
    runner = await start(
        most=4, queue=1, rules=[PodRule(means=FunctionImages((image,)), idle=60.0, most=1, queue=1)]
    )

    await asyncio.gather(*(runner.run(f"{image}:v1", LIST) for _ in range(6)))

    assert len(kube.made) == 1


async def test_a_pod_without_calls_goes_and_another_comes(
    hub: Registry, kube: Cluster, start: Start
) -> None:
    """Fails where nothing looks at pods while there are no calls."""
    hub.push("team/copy:v1", COPY)
    runner = await start(idle=0.3)
    image = f"{hub.host}/team/copy:v1"

    await runner.run(image, LIST)
    await asyncio.to_thread(kube.wait, 0)
    await runner.run(image, LIST)

    assert len(kube.made) == 2


async def test_a_pod_of_a_warm_image_stands_ready_and_stays(
    hub: Registry, kube: Cluster, start: Start
) -> None:
    """Fails where a warm pod is made by the first call, or goes when it has had none for long."""
    hub.push("team/copy:v1", COPY)
    await start(idle=0.1, warm=[f"{hub.host}/team/copy:v1", f"{hub.host}/team/none:v1"])

    (name,) = await asyncio.to_thread(kube.wait, 1)
    await until(lambda: kube.pods[name]["status"]["phase"] == "Running")
    await asyncio.sleep(1.0)
    assert kube.names() == [name]

    kube.remove(name)
    await until(lambda: len(kube.made) == 2)


# -- pods that fail -------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["killed", "removed"])
async def test_a_call_whose_pod_goes_away_is_given_to_another(
    hub: Registry, kube: Cluster, start: Start, tmp_path: Path, how: str
) -> None:
    """Fails where the caller hears of it, or where the dead pod is asked again."""
    begun = tmp_path / "begun"
    hub.push(
        "team/long:v1", sh(f"echo $PPID >> {begun}; [ $(wc -l < {begun}) != 1 ] || sleep 60; cat")
    )
    runner = await start(most=1)

    call = asyncio.create_task(runner.run(f"{hub.host}/team/long:v1", LIST, seconds=120))
    await until(lambda: begun.exists() and begun.read_text() != "")
    (name,) = kube.names()
    kube.kill(name) if how == "killed" else kube.remove(name)

    assert (await call).resources == LIST
    assert len(set(begun.read_text().split())) == 2
    assert name not in kube.names()


async def test_a_pod_that_the_kernel_ends_for_memory_says_so(
    hub: Registry, kube: Cluster, start: Start, tmp_path: Path
) -> None:
    """Fails where the function is run once more, to eat the memory of another pod."""
    begun = tmp_path / "begun"
    hub.push("team/eats:v1", sh(f"touch {begun}; sleep 60"))
    bounds = ResourceLimits(memory_bytes=64 * MIB)
    runner = await start(policy=replace(RunnerSettings().policy, usual=Granted(bounds=bounds)))

    call = asyncio.create_task(runner.run(f"{hub.host}/team/eats:v1", LIST, seconds=120))
    await until(begun.exists)
    kube.kill(kube.names()[0], "OOMKilled")

    with pytest.raises(FunctionStoppedError, match="limit of memory: 64 MiB allowed"):
        await call
    assert len(kube.made) == 1


async def test_a_pod_that_dies_between_calls_is_replaced(
    hub: Registry, kube: Cluster, start: Start
) -> None:
    hub.push("team/copy:v1", COPY)
    runner = await start()
    image = f"{hub.host}/team/copy:v1"
    before = await runner.run(image, LIST)

    kube.kill(kube.names()[0])
    after = await runner.run(image, LIST)

    assert server(before) != server(after)
    await until(lambda: len(kube.pods) == 1)  # the dead one is deleted


async def test_an_image_that_cannot_be_pulled_is_told_at_once(
    hub: Registry, kube: Cluster, start: Start
) -> None:
    """Fails where callers wait until the time for a pod is over, or each call makes another pod."""
    hub.push("team/copy:v1", COPY)
    kube.fate = ["pull"] * 5
    runner = await start(ready=3000.0)

    for _ in range(3):
        with pytest.raises(FunctionUnavailableError) as error:
            await runner.run(f"{hub.host}/team/copy:v1", LIST, seconds=2000)
        assert str(error.value) == (
            f'function "{hub.host}/team/copy:v1": it runs in pods, and one could not be started:'
            " ImagePullBackOff: Back-off (Failed: Failed to pull image: manifest unknown)."
            " Try again, or ask an operator to check its pods."
        )
        assert error.value.passing
    assert len(kube.made) == 1
    await asyncio.to_thread(kube.wait, 0)


async def test_a_pod_that_ends_at_once_is_told(hub: Registry, kube: Cluster, start: Start) -> None:
    hub.push("team/copy:v1", COPY)
    kube.fate = ["crash"]
    runner = await start()

    with pytest.raises(FunctionUnavailableError, match="could not be started: Error: exit stat"):
        await runner.run(f"{hub.host}/team/copy:v1", LIST)


async def test_a_pod_that_finds_no_node_is_told_in_time(
    hub: Registry, kube: Cluster, start: Start
) -> None:
    """Fails where the caller's time runs out first, who then hears of a slow function."""
    hub.push("team/copy:v1", COPY)
    kube.fate = ["pending"]
    runner = await start(ready=600.0)
    image = f"{hub.host}/team/copy:v1"
    patient = asyncio.create_task(runner.run(image, LIST, seconds=600))

    def told() -> bool:
        reasons = [pod.reason for group in runner._groups.values() for pod in group.pods]
        return any("Unschedulable" in each for each in reasons)

    await until(told)
    with pytest.raises(FunctionUnavailableError, match="Unschedulable: 0/3 nodes are available"):
        await runner.run(image, LIST, seconds=2)
    patient.cancel()
    await asyncio.gather(patient, return_exceptions=True)


async def test_a_pod_that_never_serves_is_deleted(
    hub: Registry, kube: Cluster, start: Start
) -> None:
    hub.push("team/copy:v1", COPY)
    for ready in (0.5, 8, 60):  # on a busy machine it may be over before the cluster says why
        kube.fate = ["pending"]
        runner = await start(ready=ready)

        with pytest.raises(FunctionUnavailableError, match=f"within {ready:g} seconds: ") as caught:
            await runner.run(f"{hub.host}/team/copy:v1", LIST)
        await asyncio.to_thread(kube.wait, 0)
        if "seconds: Unschedulable" in str(caught.value):
            break
    assert f"within {ready:g} seconds: Unschedulable" in str(caught.value)


# -- a cluster that refuses -----------------------------------------------------------------------


async def test_a_cluster_that_fails_for_a_moment_is_asked_again(
    hub: Registry, kube: Cluster, start: Start
) -> None:
    """Fails where the first 500, or a name that is taken, ends the call."""
    hub.push("team/copy:v1", COPY)
    kube.refuse = [("GET", 500), ("POST", 409), ("POST", 503), ("GET", 429)]
    runner = await start()

    assert (await runner.run(f"{hub.host}/team/copy:v1", LIST)).resources == LIST
    assert kube.requests.count(f"POST /api/v1/namespaces/{NAMESPACE}/pods") == 3


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (403, r"refuses to create a pod \(403\): told to answer 403. Let the runner's account"),
        (
            422,
            r"does not create a pod \(422\): told to answer 422. Check the"
            r" namespace and the pod template",
        ),
    ],
)
async def test_a_refusal_is_told_with_what_to_do(
    hub: Registry, kube: Cluster, start: Start, status: int, said: str
) -> None:
    hub.push("team/copy:v1", COPY)
    runner = await start()
    kube.refuse = [("POST", status)]

    with pytest.raises(FunctionUnavailableError, match=said):
        await runner.run(f"{hub.host}/team/copy:v1", LIST)


# -- whose pods -----------------------------------------------------------------------------------


async def test_pods_go_with_their_runner_and_no_others_do(
    hub: Registry, kube: Cluster, start: Start
) -> None:
    """Fails where a runner deletes all pods with its function, or leaves its own behind."""
    hub.push("team/copy:v1", COPY)
    image = f"{hub.host}/team/copy:v1"
    other = await start()
    await other.run(image, LIST)
    (theirs,) = kube.names()

    async with pods.running(settings_of(), RegistryAccess(private=True)) as runner:
        await runner.run(image, LIST)
        assert len(kube.names()) == 2
        labels = [each["metadata"]["labels"] for each in kube.made]
        assert labels[0][INSTANCE] != labels[1][INSTANCE]

    assert kube.names() == [theirs]


async def test_a_runner_takes_over_what_its_forerunner_left_if_it_is_the_same(
    hub: Registry, kube: Cluster, monkeypatch: pytest.MonkeyPatch, start: Start
) -> None:
    """Fails where pods of a runner that was killed stay for ever, or are used though they are of
    another kind than those of today."""
    hub.push("team/copy:v1", COPY)
    image = f"{hub.host}/team/copy:v1"

    async def no_pods(self: object) -> list[object]:
        raise ClusterError("killed", "")

    with monkeypatch.context() as patched:
        async with pods.running(settings_of(), RegistryAccess(private=True)) as runner:
            before = await runner.run(image, LIST)
            patched.setattr("fnrunner.pods.cluster.Cluster.pods", no_pods)
    (left,) = kube.names()
    labels = kube.made[0]["metadata"]["labels"]
    kube.adopt("of-another-kind", {**labels, SPEC: "0" * 32})

    runner = await start(ready=60.0)
    after = await runner.run(image, LIST)
    assert server(before) == server(after)
    settings = runner._settings  # what nobody takes has had its time
    runner._settings = replace(settings, rule=replace(settings.rule, ready=0.0))
    await until(lambda: kube.names() == [left])
    assert len(kube.made) == 1


def test_a_name_is_one_runners_while_it_lives_and_the_next_ones_then() -> None:
    """Fails where a name comes from the machine alone, or is another after each start."""
    first, second = pods.RunnerName("x"), pods.RunnerName("x")
    taken = first.name
    assert taken != second.name
    first.close()
    third = pods.RunnerName("x")
    assert third.name == taken
    second.close()
    third.close()


# -- what a pod looks like ------------------------------------------------------------------------


async def test_a_pod_is_fenced_whatever_the_template_says(
    hub: Registry, kube: Cluster, start: Start, tmp_path: Path
) -> None:
    """Fails where the template is laid over ours, or its lists replace ours."""
    digest = hub.push("team/copy:v1", COPY)
    template = tmp_path / "pod.yaml"
    template.write_text(
        """\
apiVersion: v1
kind: PodTemplate
metadata: {name: base}
template:
  metadata:
    labels: {team: net, porchbot/instance: somebody}
  spec:
    nodeSelector: {disk: fast}
    serviceAccountName: functions
    automountServiceAccountToken: true
    hostNetwork: true
    imagePullSecrets: [{name: pull}]
    volumes: [{name: more, emptyDir: {}}]
    securityContext: {runAsUser: 0}
    containers:
    - name: sidecar
      image: sidecar:v1
    - name: function
      image: ignored
      resources: {requests: {cpu: 100m}}
      env: [{name: TOKEN, value: of the template}]
      volumeMounts: [{name: more, mountPath: /more}]
      securityContext: {privileged: true, runAsUser: 2000, capabilities: {add: [SYS_ADMIN]}}
"""
    )
    runner = await start(
        template=str(template),
        policy=replace(
            RunnerSettings().policy, usual=Granted(bounds=ResourceLimits(memory_bytes=100 * MIB))
        ),
    )
    hub.push("team/copy:v1", sh("echo $TOKEN >&2; cat"))

    outcome = await runner.run(f"{hub.host}/team/copy:v1", LIST)

    assert outcome.log == "of the template\n"
    (made,) = kube.made
    spec = made["spec"]
    assert spec["nodeSelector"] == {"disk": "fast"}
    assert spec["imagePullSecrets"] == [{"name": "pull"}]
    assert (spec["automountServiceAccountToken"], spec["hostNetwork"]) == (False, False)
    assert [each["name"] for each in spec["containers"]] == ["sidecar", "function"]
    assert [each["name"] for each in spec["volumes"]] == ["more", "porchbot", "porchbot-tmp"]
    function = spec["containers"][1]
    assert function["resources"] == {
        "requests": {"cpu": "100m"},
        "limits": {"memory": str(196 * MIB)},
    }
    assert function["securityContext"] == {
        "runAsUser": 2000,
        "runAsGroup": 65534,
        "runAsNonRoot": True,
        "privileged": False,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"], "add": []},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    labels = made["metadata"]["labels"]
    assert labels["team"] == "net"
    assert labels[INSTANCE] != "somebody"
    assert labels[NETWORK] == "denied"
    assert labels[DIGEST] == outcome.digest.removeprefix("sha256:")[:32] != digest[7:39]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read: No such file"),
        ("- 1\n", "does not contain a pod template"),
        ("a: [\n", "cannot be read"),
    ],
)
async def test_a_template_that_is_none_is_told(
    kube: Cluster, start: Start, tmp_path: Path, text: str | None, said: str
) -> None:
    path = tmp_path / "pod.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ClusterError, match=said):
        await start(template=str(path))


# -- configuration --------------------------------------------------------------------------------


async def test_pods_are_asked_after_builtin_functions(
    hub: Registry, kube: Cluster, tmp_path: Path
) -> None:
    hub.push("team/copy:v1", COPY)
    text = f"""\
version: 1
runtimes: [builtin, pod]
images: {{registries: {{"{hub.host}": {{insecure: true}}}}}}
pods: {{namespace: {NAMESPACE}, server: "registry.example/porchbot:v1"}}
"""
    async with choose.runners(read(text.encode(), "runner.yaml")) as runner:
        assert (await runner.run("no-op:v1", LIST)).digest.startswith("builtin:")
        assert kube.made == []
        outcome = await runner.run(f"{hub.host}/team/copy:v1", LIST)
        assert outcome.digest.startswith("sha256:")
    await until(lambda: kube.pods == {})


@pytest.mark.parametrize("lacking", ["fence", "folder"])
async def test_pods_run_images_where_they_cannot_be_run_here(
    hub: Registry, kube: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lacking: str
) -> None:
    """Short-cut: ask images first, always. They refuse whatever has the name of an image."""
    hub.push("team/copy:v1", COPY)
    text = f"""\
version: 1
runtimes: [image, pod]
images: {{folder: FOLDER/images, registries: {{"{hub.host}": {{insecure: true}}}}}}
pods: {{namespace: {NAMESPACE}, server: "registry.example/porchbot:v1"}}
"""
    (tmp_path / "file").touch()
    async with AsyncExitStack() as stack:
        folder = (
            stack.enter_context(TemporaryDirectory()) if lacking == "fence" else tmp_path / "file"
        )
        Path(folder).chmod(0o755)
        text = text.replace("FOLDER", str(folder))
        with monkeypatch.context() as patched:
            patched.setenv("PATH", str(tmp_path))  # no bubblewrap
            runner = await stack.enter_async_context(
                choose.runners(read(text.encode(), "runner.yaml"))
            )
        outcome = await runner.run(f"{hub.host}/team/copy:v1", LIST)
        assert (outcome.resources, len(kube.made)) == (LIST, 1)


@pytest.mark.parametrize(
    ("pods_form", "broken", "said"),
    [
        ("{}", "", "Name an image of porchbot as `pods.server`"),
        ("{server: porchbot}", "client", r"pip install 'porchbot\[kubernetes\]'"),
        ("{server: porchbot}", "config", "no cluster is configured"),
    ],
)
async def test_pods_that_cannot_be_had_are_refused_and_the_rest_runs(
    kube: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    pods_form: str,
    broken: str,
    said: str,
) -> None:
    """Fails where a runner without a cluster does not start, or does not say what is missing."""
    if broken == "client":
        monkeypatch.setitem(sys.modules, "kubernetes", None)
    if broken == "config":
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    text = f"version: 1\nruntimes: [builtin, pod]\npods: {pods_form}\n"
    async with choose.runners(read(text.encode(), "runner.yaml")) as runner:
        assert (await runner.run("no-op:v1", LIST)).digest.startswith("builtin:")
        with pytest.raises(FunctionRefusedError, match=said):
            await runner.run("registry.example/copy:v1", LIST)
