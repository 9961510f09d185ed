"""Random packages, and random changes of them, for two tools to work on.

Everything comes from one `random.Random`, so a seed stands for a package. Names are short words
that no function of these tests changes by accident; texts have comments, several documents in a
file, both ways to indent lists, quotes and flow style, as packages of people have them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random

from cadlib.package.files import Entry
from cadlib.yaml import DELETED, Deleted, Style, Value, edit, emit, read

WORDS = ("apple", "birch", "cedar", "dune", "elm", "fern", "gorse", "hazel", "iris", "juniper")
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\n"

Change = Callable[[dict[str, Value]], Value | Deleted]


def package(rng: Random, *, name: str = "pkg") -> dict[str, Entry]:
    """Return a package of a few files: resources, a subpackage at times, and other files."""
    files = {"Kptfile": KPTFILE.format(name=name), "README.md": f"# {rng.choice(WORDS)}\n"}
    names = list(WORDS)
    rng.shuffle(names)
    for path in rng.sample(("a.yaml", "b.yml", "deep/c.yaml", "deep/er/d.yaml"), rng.randint(1, 4)):
        files[path] = _file(rng, [names.pop() for _ in range(min(len(names), rng.randint(1, 3)))])
    if rng.random() < 0.4:
        files["sub/Kptfile"] = KPTFILE.format(name="sub")
        files["sub/e.yaml"] = _file(rng, [rng.choice(WORDS) + "-sub"])
    if rng.random() < 0.3:
        files[".krmignore"] = "ignored.yaml\n"
        files["ignored.yaml"] = _file(rng, ["ignored"])
    return {path: Entry(text.encode()) for path, text in sorted(files.items())}


def _file(rng: Random, names: Sequence[str]) -> str:
    documents = []
    for name in names:
        value = rng.choice((_config, _deployment, _service, _custom))(rng, name)
        compact = rng.random() < 0.5
        documents.append(_commented(rng, emit(value, style=Style(compact=compact))))
    mark = "---\n"
    return (mark if rng.random() < 0.3 else "") + mark.join(documents)


def _commented(rng: Random, text: str) -> str:
    """Put comments above lines and behind values; never beside `metadata:`, which kpt takes."""
    lines = []
    for number, line in enumerate(text.splitlines()):
        key, _, value = line.partition(": ")
        plain = value and not line.rstrip().endswith((":", "|", ">", "null"))
        beside = key.lstrip().startswith("-") or value == "null"
        if number and rng.random() < 0.06 and not beside:
            lines.append(" " * (len(line) - len(line.lstrip())) + f"# above {number}")
        lines.append(f"{line} # note {number}" if plain and rng.random() < 0.15 else line)
    return "\n".join(lines) + "\n"


def _metadata(rng: Random, name: str) -> dict[str, Value]:
    metadata: dict[str, Value] = {"name": name}
    if rng.random() < 0.4:
        metadata["namespace"] = rng.choice(("north", "south"))
    if rng.random() < 0.5:
        metadata["labels"] = {word: rng.choice(WORDS) for word in rng.sample(WORDS, 2)}
    if rng.random() < 0.3:
        metadata["annotations"] = {f"example.com/{rng.choice(WORDS)}": "yes"}
    return metadata


def _config(rng: Random, name: str) -> Value:
    data: dict[str, Value] = {word: rng.choice(WORDS) for word in rng.sample(WORDS, 3)}
    data["number"] = str(rng.randint(1, 99))
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _metadata(rng, name), "data": data}


def _deployment(rng: Random, name: str) -> Value:
    containers: list[Value] = [
        {
            "name": word,
            "image": f"example.com/{word}:v{rng.randint(1, 9)}",
            "args": [f"--{rng.choice(WORDS)}" for _ in range(rng.randint(1, 3))],
            "env": [{"name": each.upper(), "value": word} for each in rng.sample(WORDS, 2)],
            "ports": [{"containerPort": rng.randint(1000, 2000), "protocol": "TCP"}],
        }
        for word in rng.sample(WORDS, rng.randint(1, 3))
    ]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(rng, name),
        "spec": {
            "replicas": rng.randint(1, 5),
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": containers},
            },
        },
    }


def _service(rng: Random, name: str) -> Value:
    ports: list[Value] = [
        {"port": port, "protocol": "TCP", "targetPort": rng.choice(WORDS)}
        for port in rng.sample(range(80, 90), rng.randint(1, 2))
    ]
    spec: Value = {"selector": {"app": name}, "ports": ports}
    return {"apiVersion": "v1", "kind": "Service", "metadata": _metadata(rng, name), "spec": spec}


def _custom(rng: Random, name: str) -> Value:
    spec: dict[str, Value] = {
        "enabled": rng.choice((True, False)),
        "size": rng.choice((1, 2.5, "large", None)),
        "colours": [rng.choice(WORDS) for _ in range(rng.randint(1, 3))],
        "nested": {"deep": {"er": rng.choice(WORDS)}},
    }
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": _metadata(rng, name),
        "spec": spec,
    }


# --- changes ---------------------------------------------------------------------------------


def changed(rng: Random, files: Mapping[str, Entry], changes: Sequence[Change]) -> dict[str, Entry]:
    """Return a package with changes made to resources that `rng` picks, each to one.

    The text of what is not changed stays, so the same `rng` makes the same changes to the same
    resources in another layout.
    """
    after = dict(files)
    for change in changes:
        places = list(_resources(after))
        if not places:
            return after
        path, position = rng.choice(places)
        stream = read(after[path].data, path=path)
        value = stream.documents[position].value
        assert isinstance(value, dict)
        wanted = change(value)
        whole = isinstance(wanted, Deleted) and len(places_in(after, path)) == 1
        if whole:
            del after[path]
        else:
            after[path] = Entry(edit(stream, {position: wanted}))
    return after


def places_in(files: Mapping[str, Entry], path: str) -> list[int]:
    """Return the positions of the resources in a file."""
    return [position for found, position in _resources(files) if found == path]


def _resources(files: Mapping[str, Entry]) -> Iterator[tuple[str, int]]:
    for path in sorted(files):
        if path.endswith((".yaml", ".yml")) and path != "ignored.yaml":
            for position, document in enumerate(read(files[path].data).documents):
                if not document.empty:
                    yield path, position


def some_changes(rng: Random, who: str, *, removals: bool) -> list[Change]:
    """Return changes of the kinds that people make; `who` is in every text they put in."""
    kinds: list[Callable[[Random, str], Change]] = [_label, _field, _element]
    if removals:
        kinds += [_unset, _remove]
    return [rng.choice(kinds)(rng, who) for _ in range(rng.randint(1, 3))]


def _label(rng: Random, who: str) -> Change:
    key = rng.choice(WORDS)

    def change(value: dict[str, Value]) -> Value:
        metadata = value["metadata"]
        assert isinstance(metadata, dict)
        labels = metadata.get("labels")
        new: dict[str, Value] = {**(labels if isinstance(labels, dict) else {}), key: who}
        return {**value, "metadata": {**metadata, "labels": new}}

    return change


def _body(value: dict[str, Value]) -> tuple[str, dict[str, Value]]:
    key = "spec" if "spec" in value else "data"
    body = value[key]
    assert isinstance(body, dict)
    return key, body


def _field(rng: Random, who: str) -> Change:
    key = f"{rng.choice(WORDS)}"

    def change(value: dict[str, Value]) -> Value:
        place, body = _body(value)
        return {**value, place: {**body, key: who}}

    return change


def _element(rng: Random, who: str) -> Change:
    at_front = rng.random() < 0.5

    def change(value: dict[str, Value]) -> Value:
        place, body = _body(value)
        elements: dict[str, Value] = {"ports": {"port": 8443, "targetPort": who}, "colours": who}
        for key, new in elements.items():
            items = body.get(key)
            if isinstance(items, list) and new not in items:
                more: list[Value] = [new, *items] if at_front else [*items, new]
                return {**value, place: {**body, key: more}}
        return {**value, place: {**body, "added": who}}

    return change


def _unset(rng: Random, who: str) -> Change:
    del who  # a removal holds no text
    pick = rng.random()

    def change(value: dict[str, Value]) -> Value:
        place, body = _body(value)
        keys = [key for key, each in body.items() if not isinstance(each, dict | list)]
        if len(body) < 2 or not keys:
            return value
        gone = keys[int(pick * len(keys))]
        return {**value, place: {key: each for key, each in body.items() if key != gone}}

    return change


def _remove(rng: Random, who: str) -> Change:
    del rng, who
    return lambda value: DELETED if value else value
