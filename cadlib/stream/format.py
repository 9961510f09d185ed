"""Resources in the order that kpt's formatter gives them, as moves of their text.

Rules:
- Known keys come first, in one order for all kinds; the others follow by their letters.
  Two lists whose order means nothing are sorted: containers by name, and the operations of
  a webhook's rules; only for kinds and versions known to have them.
- An entry moves with its lines, the comment lines right above it in its column, and those
  below it that are indented as it is or further. Nothing is laid out anew.
- The annotation `config.kubernetes.io/formatting` may say `none` or `standard`. What lacks
  kind or apiVersion is left as it is, and so is a document whose entries cannot be moved
  without another meaning (an alias before its anchor).

Source: kyaml `kio/filters/fmtr.go` and `yaml/order.go` (kubernetes-sigs/kustomize).
"""

import json
from collections.abc import Callable, Sequence
from itertools import pairwise

from cadlib.errors import PackageError, Place
from cadlib.stream.places import annotations
from cadlib.stream.text import dashes, trailing
from cadlib.yaml import Stream, Value, read, same
from cadlib.yaml.patch import Patch, head
from cadlib.yaml.tree import Document, Map, Node, Scalar, Seq, key_text

ANNOTATION = "config.kubernetes.io/formatting"

# The order of keys in kyaml; of a name that stands here twice, the later place counts.
_KEYS = """
name generateName namespace clusterName apiVersion kind metadata type labels annotations
spec status
stringData data binaryData
parallelism completions activeDeadlineSeconds backoffLimit replicas selector manualSelector
template ttlSecondsAfterFinished volumeClaimTemplates service serviceName podManagementPolicy
updateStrategy strategy minReadySeconds revision revisionHistoryLimit paused
progressDeadlineSeconds
restartPolicy terminationGracePeriodSeconds activeDeadlineSeconds dnsPolicy serviceAccountName
serviceAccount automountServiceAccountToken nodeName hostNetwork hostPID hostIPC
shareProcessNamespace hostname subdomain schedulerName priorityClassName priority
runtimeClassName enableServiceLinks nodeSelector hostAliases
initContainers containers volumes securityContext imagePullSecrets affinity tolerations
dnsConfig readinessGates
image command args workingDir ports envFrom env resources volumeMounts volumeDevices
livenessProbe readinessProbe lifecycle terminationMessagePath terminationMessagePolicy
imagePullPolicy securityContext stdin stdinOnce tty
clusterIP externalIPs loadBalancerIP loadBalancerSourceRanges externalName
externalTrafficPolicy sessionAffinity
protocol port targetPort hostPort containerPort hostIP
readOnly mountPath subPath subPathExpr mountPropagation
value valueFrom fieldRef resourceFieldRef configMapKeyRef secretKeyRef prefix configMapRef
secretRef
"""
_ORDER = {key: place for place, key in enumerate(_KEYS.split())}
_LAST = len(_ORDER) + 100

_SORTED_KINDS = frozenset(
    (
        *("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob"),
        "ValidatingWebhookConfiguration",
    )
)
_SORTED_VERSIONS = frozenset(
    (
        *("v1", "apps/v1", "apps/v1beta1", "apps/v1beta2", "extensions/v1beta1"),
        *("batch/v1", "batch/v1beta1"),
        *("admissionregistration.k8s.io/v1", "admissionregistration.k8s.io/v1beta1"),
    )
)
# The lists that are sorted, and the key of their elements that decides.
_SORTED_LISTS = {".spec.template.spec.containers": "name", ".webhooks.rules.operations": ""}


class Ordered(dict[str, Value]):
    """A resource whose keys are to be written in its own order.

    Of any other resource the order of keys does not count, since most functions give keys
    back in another order than they were given, and nobody wants to read that in a diff.
    """


def formatted(stream: Stream) -> bytes:
    """Return a file with its resources in order.

    Raises:
        PackageError: A resource asks for a way of formatting that there is none.
    """
    wanted = [number for number, each in enumerate(stream.documents) if _wanted(each)]
    data = _ordered(stream, wanted)
    if data is None:  # one of them cannot be moved: the others by themselves
        for position in wanted:
            stream = read(_ordered(stream, [position]) or stream.data, path=stream.source.path)
        return stream.data
    return data


def key_order(key: str) -> tuple[int, str]:
    """Return the sort key of a field name."""
    return _ORDER.get(key, _LAST), key


def _ordered(stream: Stream, positions: Sequence[int]) -> bytes | None:
    """Return a file with some documents in order; None if that would change a value."""
    patch = Patch(stream.source)
    for position in positions:
        document = stream.documents[position]
        start = head(patch, patch.line_start(document.root.start))
        end = patch.after(document.root.end)
        text = _Mover(patch, document.value).text(document.root, start, end, "")
        if text != patch.text[start:end]:
            patch.replace(start, end, text)
    if not patch.edits:
        return stream.data
    data = (("\ufeff" if stream.source.bom else "") + patch.apply()).encode()
    try:
        now = read(data, path=stream.source.path).documents
    except PackageError:
        return None
    kept = len(now) == len(stream.documents) and all(
        same(_unordered(new.value), _unordered(old.value))
        for new, old in zip(now, stream.documents, strict=True)
    )
    return data if kept else None


def _unordered(value: Value, path: str = "") -> Value:
    """Return a value with the lists that may be sorted in an order of their own."""
    if isinstance(value, dict):
        return {key: _unordered(each, f"{path}.{key}") for key, each in value.items()}
    if isinstance(value, list):
        items = [_unordered(each, path) for each in value]
        return sorted(items, key=_canonical) if path in _SORTED_LISTS else items
    return value


def _canonical(value: Value) -> str:
    return json.dumps(value, sort_keys=True)


def _wanted(document: Document) -> bool:
    value = document.value
    if not isinstance(value, dict) or value.get("kind") is None or value.get("apiVersion") is None:
        return False
    strategy = annotations(value).get(ANNOTATION, "standard")
    if strategy not in ("standard", "none"):
        place = Place(document.source.path, document.line(("metadata", "annotations", ANNOTATION)))
        raise PackageError(
            place, f"formatting strategy {strategy!r} is not known", "Write standard or none"
        )
    return strategy == "standard"


class _Mover:
    """Makes the ordered text of one document's nodes."""

    __slots__ = ("_patch", "_sorts", "_text")

    def __init__(self, patch: Patch, resource: Value) -> None:
        self._patch = patch
        self._text = patch.text
        whole = resource if isinstance(resource, dict) else {}
        self._sorts = (
            str(whole.get("kind")) in _SORTED_KINDS
            and str(whole.get("apiVersion")) in _SORTED_VERSIONS
        )

    def text(self, node: Node, start: int, end: int, path: str) -> str:
        """Return the text from `start` to `end`, in which a node lies, in order.

        Args:
            node: The node.
            start: The beginning of a line, or a place on the node's first one.
            end: The beginning of a line for a node in block style.
            path: Names of the keys above it, each behind a dot.
        """
        match node:
            case Map() if node.flow:
                return self._flow_map(node, start, end, path)
            case Seq() if node.flow:
                return self._flow_list(node, start, end, path)
            case Map():
                parts = [
                    (key.start, key.end, value, f"{path}.{key_text(key)}", key_text(key))
                    for key, value in zip(node.keys, node.values, strict=True)
                ]
                return self._block(parts, start, end, key_order)
            case Seq():
                by = _SORTED_LISTS.get(path) if self._sorts else None
                marks = dashes(self._text, node)
                parts = [
                    (mark, mark + 1, item, path, _element(item, by))
                    for mark, item in zip(marks, node.items, strict=True)
                ]
                return self._block(parts, start, end, None if by is None else _as_it_is)
        return self._text[start:end]

    def _block(
        self,
        parts: Sequence[tuple[int, int, Node, str, str]],
        start: int,
        end: int,
        order: Callable[[str], tuple[int, str]] | None,
    ) -> str:
        """Order the entries of a block collection.

        Args:
            parts: Of each entry where its key or dash begins and ends, its value, the
                path to that, and what it is sorted by.
            start: Where the text begins that holds the collection.
            end: Where it ends.
            order: Makes the key to sort by; None to leave the order.
        """
        margin = self._patch.column(parts[0][0])
        below = trailing(self._patch, self._patch.after(parts[-1][2].end), margin - 1)
        last = max(min(below, end), parts[-1][2].end)
        starts = [self._entry_start(begin, start) for begin, *_ in parts]
        chunks: list[tuple[str, str]] = []
        for (_, after, value, path, name), (begin, stop) in zip(
            parts, pairwise([*starts, last]), strict=True
        ):
            chunks.append((name, self._text[begin:after] + self.text(value, after, stop, path)))
        alone = self._alone(parts[0][0])
        if order is not None and all(self._alone(begin) for begin, *_ in parts[1:]):
            pad = "" if alone else " " * margin
            chunks[0] = (chunks[0][0], pad + chunks[0][1])
            chunks.sort(key=lambda chunk: order(chunk[0]))
            chunks[0] = (chunks[0][0], chunks[0][1][len(pad) :])
        joined = "".join(text for _, text in chunks)
        return self._text[start : starts[0]] + joined + self._text[last:end]

    def _entry_start(self, position: int, start: int) -> int:
        """Return where an entry begins, the comment lines above it included."""
        if not self._alone(position):
            return position
        return max(start, head(self._patch, self._patch.line_start(position)))

    def _alone(self, position: int) -> bool:
        """Tell whether nothing stands before a place on its line."""
        return not self._text[self._patch.line_start(position) : position].strip()

    def _flow_map(self, node: Map, start: int, end: int, path: str) -> str:
        spans = [(key.start, value.end) for key, value in zip(node.keys, node.values, strict=True)]
        texts = [
            (key_text(key), self.text(value, key.start, value.end, f"{path}.{key_text(key)}"))
            for key, value in zip(node.keys, node.values, strict=True)
        ]
        if "#" not in self._text[node.start : node.end]:  # a comment would change its owner
            texts.sort(key=lambda each: key_order(each[0]))
        return self._filled(spans, [text for _, text in texts], start, end)

    def _flow_list(self, node: Seq, start: int, end: int, path: str) -> str:
        spans = [(item.start, item.end) for item in node.items]
        texts = [self.text(item, item.start, item.end, path) for item in node.items]
        by = _SORTED_LISTS.get(path) if self._sorts else None
        if by is not None and "#" not in self._text[node.start : node.end]:
            names = [_element(item, by) for item in node.items]
            texts = [text for _, text in sorted(zip(names, texts, strict=True))]
        return self._filled(spans, texts, start, end)

    def _filled(
        self, spans: Sequence[tuple[int, int]], texts: Sequence[str], start: int, end: int
    ) -> str:
        """Return a text with others in the place of some of its spans."""
        parts, done = [], start
        for (begin, stop), text in zip(spans, texts, strict=True):
            parts += [self._text[done:begin], text]
            done = stop
        return "".join([*parts, self._text[done:end]])


def _as_it_is(name: str) -> tuple[int, str]:
    return 0, name


def _element(item: Node, by: str | None) -> str:
    """Return what an element of a list is sorted by: its own text, or that of one key."""
    if by and isinstance(item, Map):
        found = item.at(by)
        item = found[1] if found else item
    return item.raw if isinstance(item, Scalar) else ""
