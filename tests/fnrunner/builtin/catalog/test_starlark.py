"""starlark: what scripts see, what becomes of what they leave, and how they fail.

Longer than 400 lines: a table of scripts and mistakes.
"""

import json
from dataclasses import replace
from typing import Any

import pytest

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner.builtin import resource
from fnrunner.builtin.catalog import starlark
from fnrunner.builtin.verdict import FAILURE_LOG, FunctionResult
from tests.fnrunner.calls import call, items, values

PODS = """
apiVersion: v1
kind: Pod
metadata: {name: a}
---
apiVersion: v1
kind: Pod
metadata: {name: b, annotations: {x: y}}
"""


def script(source: str, **params: Value) -> str:
    config = {
        "apiVersion": "fn.kpt.dev/v1alpha1",
        "kind": "StarlarkRun",
        "metadata": {"name": "my-fn"},
        "source": source,
        "params": params,
    }
    return json.dumps(config)


def run(source: str, given: tuple[Item, ...] = (), **params: Value) -> FunctionResult:
    return starlark.run(ResourceList(given, values(script(source, **params))[0]))


def printed(source: str) -> str:
    answer = run(source)
    assert not answer.failed, answer.results
    return answer.log


def test_what_a_script_changes_is_changed_and_the_rest_is_what_came() -> None:
    """Short-cut: return everything as new."""
    given = items(PODS)
    answer = run('ctx.resource_list["items"][1]["spec"] = {"x": 1}', given)
    assert answer.items[0] is given[0]
    assert answer.items[1].value == {**values(PODS)[1], "spec": {"x": 1}}  # type: ignore[dict-item]
    assert (answer.items[1].path, answer.items[1].index) == ("resources.yaml", 1)
    assert (answer.results, answer.log, answer.failed) == ((), "", False)


def test_items_may_go_come_and_change_places() -> None:
    source = """
old = ctx.resource_list["items"]
made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "c"}}
ctx.resource_list["items"] = [made, old[1]]
"""
    given = items(PODS)
    answer = run(source, given)
    assert answer.items[1] is given[1]
    assert answer.items[0] == Item({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "c"}})


TREE: dict[str, Any] = {
    "none": None, "yes": True, "whole": 1, "float": 1.0, "big": 2**80, "text": "ä\n#\"'",
    "empty": {}, "list": [1, [2.5, []], {"z": 1, "a": 2}], "1": "key", "ctx.resource_list": "kept",
}  # fmt: skip


def test_values_come_back_as_they_went() -> None:
    """Short-cut: trust the interpreter with floats, large numbers, and the order of keys."""
    made: Any = {"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}, "data": TREE}
    given = (Item(made, path="a.yaml", index=0),)
    source = """
for r in ctx.resource_list["items"]: r["metadata"]["name"] = "b"
"""
    [after] = run(source, given).items
    assert json.dumps(after.value) == json.dumps({**made, "metadata": {"name": "b"}})


COMMENTED: Any = {
    "apiVersion": "v1", "kind": "A", "metadata": {"name": "a"},
    "list": [{"name": "x"}, {"name": "y"}], "gone": 1,
}  # fmt: skip


def test_a_whole_number_that_is_worked_out_is_one() -> None:
    """Short-cut: write `replicas: 5.0`, which no API server takes; or touch what was there."""
    given = items("apiVersion: v1\nkind: X\nmetadata: {name: a}\nspec: {old: 2.0, list: [3.0, 1]}")
    source = """
spec = ctx.resource_list["items"][0]["spec"]
spec["new"] = 10 / 2
spec["half"] = 0.5
spec["old2"] = spec["old"]
ctx.resource_list["items"].append({"apiVersion": "v1", "kind": "Y", "n": [4 / 2, 1e300]})
"""
    first, second = run(source, given).items
    spec = {"old": 2.0, "list": [3.0, 1], "new": 5, "half": 0.5, "old2": 2}
    assert repr(resource.field(first.value, "spec")) == repr(spec)
    assert repr(resource.field(second.value, "n")) == repr([2, 1e300])


def test_comments_follow_their_fields() -> None:
    """Short-cut: keep them by position, or lose them."""
    comments = {
        ("metadata", "name"): "# who",
        ("list", 1, "name"): "# second",
        ("list", 0, "name"): "# first",
        ("gone",): "# old",
    }
    given = (Item(COMMENTED, comments, "a.yaml", 0),)
    source = """
r = ctx.resource_list["items"][0]
r["metadata"]["name"] = "b"
r.pop("gone")
r["list"] = [r["list"][1]]
"""
    [after] = run(source, given).items
    assert after.comments == {("metadata", "name"): "# who", ("list", 0, "name"): "# second"}


MOVED = {
    "today's annotation": ("internal.config.kubernetes.io/path", "new.yaml", ("new.yaml", 0)),
    "the older one": ("config.kubernetes.io/path", "new.yaml", ("new.yaml", 0)),
    "an index": ("config.kubernetes.io/index", "7", ("resources.yaml", 7)),
    "an index that is a number": ("internal.config.kubernetes.io/index", 7, ("resources.yaml", 7)),
}


@pytest.mark.parametrize(("key", "text", "place"), MOVED.values(), ids=MOVED)
def test_a_resource_moves_by_the_annotation_that_changed(
    key: str, text: object, place: tuple[str, int]
) -> None:
    """Short-cut: read today's annotations only."""
    source = f'ctx.resource_list["items"][0]["metadata"]["annotations"]["{key}"] = {text!r}'
    after = run(source, items(PODS)).items[0]
    assert (after.path, after.index) == place
    assert after.value == values(PODS)[0]


def test_a_resource_moved_to_two_places_is_refused() -> None:
    source = """
a = ctx.resource_list["items"][1]["metadata"]["annotations"]
a["config.kubernetes.io/path"] = "b.yaml"
a["internal.config.kubernetes.io/path"] = "c.yaml"
"""
    answer = run(source, items(PODS))
    [result] = answer.results
    assert "items[1]: resource input to function has mismatched legacy and internal path" in str(
        result["message"]
    )
    assert answer.items == items(PODS)


def test_notes_of_kpt_and_items_without_a_path_stay() -> None:
    annotations = {"config.k8s.io/id": "1", "internal.config.kubernetes.io/package-path": "p"}
    noted: Any = {"apiVersion": "v1", "kind": "A", "metadata": {"annotations": annotations}}
    given = (Item(noted), Item(COMMENTED, {("gone",): "# c"}), Item({**COMMENTED, "kind": "B"}))
    source = 'ctx.resource_list["items"][1]["gone"] = 2'
    answer = run(source, given)
    assert answer.items[0] is given[0]
    assert answer.items[1] == replace(given[1], value={**COMMENTED, "gone": 2})
    assert answer.items[2] is given[2]


@pytest.mark.parametrize("annotations", [{}, None])
def test_annotations_that_are_empty_stay(annotations: Value) -> None:
    value: Value = {"apiVersion": "v1", "kind": "A", "metadata": {"annotations": annotations}}
    given = (Item(value, path="a.yaml", index=0),)
    [after] = run('ctx.resource_list["items"][0]["x"] = 1', given).items
    assert after.value == {**value, "x": 1}  # type: ignore[dict-item]


FAILED = {
    "fail": ('print("before")\nfail("bad", 1)', "fail: bad 1", "before\n"),
    "an error while it runs": ("{}['x']", 'key "x" not in dict', ""),
    "a name that there is not": (
        "a = 1\nb = ctx.resource_list; c = nope", "my-fn:2:28: undefined: nope", "",
    ),
    "no Starlark": ("x = 1 +", "my-fn:1:8: got end of file, want primary expression", ""),
    "no list": (
        'ctx.resource_list["items"] = 5',
        'the script left an int in ctx.resource_list["items"]. Leave a list there.', "",
    ),
    "no items": (
        'ctx.resource_list.pop("items")',
        'the script left None in ctx.resource_list["items"]. Leave a list there.', "",
    ),
    "no resource": (
        'ctx.resource_list["items"].append("x")',
        'the script left a string in ctx.resource_list["items"][0]. Each item is a resource,'
        " a dict with apiVersion, kind and metadata.", "",
    ),
    "a key that is none": (
        'ctx.resource_list["items"] = [{None: 1}]', "items[0]: a key is a NoneType, want a string",
        "",
    ),
    "a module that is refused": (
        'load("http.star", "http")', "cannot load http.star: functions have no network", "",
    ),
    "a module that there is not": (
        'load("os.star", "os")',
        "cannot load os.star: there is no such module; there are encoding/base64.star,"
        " encoding/csv.star, encoding/json.star, encoding/yaml.star, hash.star, krmfn.star,"
        " math.star, re.star", "",
    ),
    "a member that there is not": (
        'load("math.star", "maths")', "load: name maths not found in module math.star", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("source", "message", "log"), FAILED.values(), ids=FAILED)
def test_a_script_that_fails_changes_nothing_and_says_why(
    source: str, message: str, log: str
) -> None:
    answer = run(source)
    assert answer == FunctionResult(
        items=(),
        results=({"message": message, "severity": "error"},),
        failed=True,
        log=log + FAILURE_LOG,
    )


def test_a_script_that_takes_too_much_is_stopped() -> None:
    answer = run("x = 'a'\nwhile True: x += x", items(PODS))
    assert [each["message"] for each in answer.results] == [
        "the script: it was stopped because it exceeded its limit of memory: 256 MiB allowed."
        " Make it do less,"
        " or give it fewer resources."
    ]
    assert answer.items == items(PODS)


def test_a_log_without_an_end_is_cut() -> None:
    """Short-cut: keep all that it prints."""
    answer = run("for i in range(20): print('a' * 100000)")
    assert not answer.failed
    *lines, cut, last = answer.log.split("\n")
    assert [len(line) for line in lines] == [100000] * 10
    assert len(cut) == 1048576 - 10 * 100001
    assert last == "… more than 1048576 characters; the rest is left out"


CONFIGS = {
    "none": (None, "FunctionConfig is missing. Expect `ConfigMap` or `StarlarkRun`"),
    "another kind": (
        "apiVersion: v1\nkind: Secret",
        "`functionConfig` must be either /v1, Kind=ConfigMap or"
        " fn.kpt.dev/v1alpha1, Kind=StarlarkRun, but we got: /v1, Kind=Secret",
    ),
    "no text": (
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nsource: 5",
        "unable to convert object to *starlark.StarlarkRun with error: json: cannot unmarshal"
        " number into Go struct field StarlarkRun.source of type string",
    ),
    "data that is no text": (
        "apiVersion: v1\nkind: ConfigMap\ndata: {source: 'x = 1', n: 5}",
        "unable to convert object to *v1.ConfigMap with error: json: cannot unmarshal number into"
        " Go struct field ConfigMap.data of type string",
    ),
    "data that is a list": (
        "apiVersion: v1\nkind: ConfigMap\ndata: [a]",
        "unable to convert object to *v1.ConfigMap with error: json: cannot unmarshal array into"
        " Go struct field ConfigMap.data of type map[string]string",
    ),
    "params that are a list": (
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nsource: x = 1\nparams: [a]",
        "unable to convert object to *starlark.StarlarkRun with error: json: cannot unmarshal"
        " array into Go struct field StarlarkRun.params of type map[string]interface {}",
    ),
    "another version": (
        "apiVersion: fn.kpt.dev/v1beta1\nkind: StarlarkRun",
        "`functionConfig` must be either /v1, Kind=ConfigMap or"
        " fn.kpt.dev/v1alpha1, Kind=StarlarkRun, but we got: fn.kpt.dev/v1beta1, Kind=StarlarkRun",
    ),
    "no kind": ("metadata: {name: a}\nsource: x = 1", "`source` must not be empty"),
    "no source": ("apiVersion: v1\nkind: ConfigMap\ndata: {n: '5'}", "`source` must not be empty"),
}


@pytest.mark.parametrize(("config", "message"), CONFIGS.values(), ids=CONFIGS)
def test_a_wrong_configuration_is_told(config: str | None, message: str) -> None:
    answer = call(starlark.run, PODS, config)
    assert (answer.messages, answer.failed) == ([f"error: {message}"], True)


@pytest.mark.parametrize(
    "config",
    [
        "kind: StarlarkRun\nsource: print(1)",
        "apiVersion: fn.kpt.dev/v1alpha1\nsource: print(1)",
        "kind: ConfigMap\ndata: {source: print(1)}",
        "apiVersion: x.io/v1\nkind: ConfigMap\ndata: {source: print(1)}",
    ],
)
def test_what_a_configuration_leaves_out_fits(config: str) -> None:
    """Short-cut: ask for version and kind to the letter."""
    answer = call(starlark.run, PODS, config)
    assert (answer.messages, answer.log) == ([], "1")


SEEN = {
    "params": ('print(ctx.resource_list["functionConfig"]["metadata"]["name"])', "my-fn"),
    "schemas": ('print(len(ctx.open_api["definitions"]) > 100)', "True"),
    "schemas as OpenAPI has them": (
        'd = ctx.open_api["definitions"]["io.k8s.api.apps.v1.DeploymentSpec"]\n'
        'p = d["properties"]\nprint(d["type"], p["replicas"]["type"], p["template"]["$ref"])',
        "object integer #/definitions/io.k8s.api.core.v1.PodTemplateSpec",
    ),
    "environment": ('print(sorted(ctx.environment))', '["HOME", "PATH"]'),
    "sets, recursion and while": (
        "def f(n): return 1 if n == 0 else n * f(n - 1)\nx = set([1])\nn = 3\n"
        "while n > 0: n -= 1\nprint(f(4), x, n)", "24 set([1]) 0",
    ),
    "attributes in texts and comments": (
        "print('ctx.resource_list', \"\"\"load('x')\nctx.open_api\"\"\") # ctx.environment",
        "ctx.resource_list load('x')\nctx.open_api",
    ),
    "ctx under another name": (
        'def f(c):\n  return c . resource_list["items"]\nprint(f(ctx))', "[]",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("source", "log"), SEEN.values(), ids=SEEN)
def test_what_a_script_sees(source: str, log: str) -> None:
    assert printed(source) == log


LOADED = {
    "math": (
        'load("math.star", "math")\n'
        "print(math.ceil(1.2), math.floor(-1.2), math.round(2.5), math.pow(2, 3), math.mod(7, 4),"
        " math.sqrt(2) > 1.41, math.log(8, 2), math.pi > math.e)",
        "2 -2 3.0 8.0 3.0 True 3.0 True",
    ),
    "json": (
        'load("encoding/json.star", "json")\n'
        'print(json.encode({"b": [1, 2.0, None], "a": "ä"}))\n'
        "print(json.decode('{\"b\": 1, \"a\": [1.0]}'), json.decode('{', default = 7))\n"
        "print(json.indent('{\"a\":[1,{}],\"b\":\"x,y\"}', indent = ' '))",
        '{"a":"ä","b":[1,2.0,null]}\n{"b": 1, "a": [1.0]} 7\n'
        '{\n "a": [\n  1,\n  {}\n ],\n "b": "x,y"\n}',
    ),
    "yaml": (
        'load("encoding/yaml.star", "yaml")\n'
        'print(yaml.loads("a: [1, x]\\nb: null"))\nprint(yaml.dumps({"a": (1, "x")}))',
        '{"a": [1, "x"], "b": None}\na:\n- 1\n- x\n',
    ),
    "yaml as Go reads it": (
        'load("encoding/yaml.star", "yaml")\n'
        'print(yaml.loads("{2: a, t: 2020-01-01T00:00:00Z, yes: no, f: 1e3}"),'
        ' yaml.loads("a\\n---\\nb"), yaml.loads(""))',
        '{2: "a", "t": "2020-01-01T00:00:00Z", True: False, "f": 1000.0} a None',
    ),
    "yaml as Go writes it": (
        'load("encoding/yaml.star", "yaml")\n'
        's = ["", "yes", "n", "1", "1:20", "1e3", "a: b", "ü"]\n'
        'print(yaml.dumps({"t": "a\\nb\\n", "s": s, "f": 2.0, "e": {}, "n": None}))',
        'e: {}\nf: 2\n"n": null\ns:\n- ""\n- "yes"\n- "n"\n- "1"\n- "1:20"\n- "1e3"\n- \'a: b\'\n'
        "- ü\n"
        "t: |\n  a\n  b\n",
    ),
    "numbers in yaml as Go writes them": (
        'load("encoding/yaml.star", "yaml")\n'
        'print(yaml.dumps([0.5, 2.0, 1e6, 1.5e9, 100000.0, 0.00001, 0.0, -3.0, float("inf"), 7]))',
        "- 0.5\n- 2\n- 1e+06\n- 1.5e+09\n- 100000\n- 1e-05\n- 0\n- -3\n- .inf\n- 7\n",
    ),
    "csv as Go reads it": (
        'load("encoding/csv.star", "csv")\n'
        'text = "#x\\na, b\\n1,\\"#\\n#\\"\\n"\n'
        'print(csv.read_all(text, comment = "#", trim_leading_space = True))\n'
        'print(csv.read_all("a\\n1,2\\n", fields_per_record = -1))',
        '[["a", "b"], ["1", "#\\n#"]]\n[["a"], ["1", "2"]]',
    ),
    "csv as Go writes it": (
        'load("encoding/csv.star", "csv")\n'
        'print(csv.write_all([[True, None, 1.0, 0.5, 2e6, 1e21, "", " a", "a,b", "q\\"", "x"]]))',
        'true,<nil>,1,0.5,2000000,1e+21,," a","a,b","q""",x\n',
    ),
    "base64": (
        'load("encoding/base64.star", "base64")\n'
        'print(base64.encode("a?>"), base64.encode("a?>", "url"), base64.encode("a", "url_raw"),'
        ' base64.decode("YT8+"), base64.decode("YQ", encoding = "standard_raw"))',
        "YT8+ YT8- YQ a?> a",
    ),
    "csv": (
        'load("encoding/csv.star", "csv")\n'
        'print(csv.read_all("a,b\\n1,\\"x,y\\"\\n"),'
        ' csv.read_all("h;i\\n1;2", comma = ";", skip = 1))\n'
        'print(csv.write_all([["a", 1]]))',
        '[["a", "b"], ["1", "x,y"]] [["1", "2"]]\na,1\n',
    ),
    "hash": (
        'load("hash.star", "hash")\nprint(hash.md5("a"), hash.sha1("a")[:8], hash.sha256("a")[:8])',
        "0cc175b9c0f1b6a831c399e269772661 86f7e437 ca978112",
    ),
    "re": (
        'load("re.star", rx = "re")\n'
        'print(rx.findall("a.", "abac"), rx.split(",", "a,b,c"), rx.split(",", "a,b,c", 2),'
        ' rx.sub("(a)(.)", "$2${1}$$", "abac"), rx.match("(a)(x)?", "ba"), "a b".split(" "))',
        '("ab", "ac") ("a", "b", "c") ("a", "b,c") ba$ca$ [("a", "a", "")] ["a", "b"]',
    ),
    "places in a text": (
        'load("re.star", "re")\ntext = "äb€c"\nm = re.search("€c?", text)\n'
        'print(m, text[m[0]:m[1]], re.search("x", text))',
        "[3, 7] €c None",
    ),
    "krmfn": (
        'load("krmfn.star", "krmfn")\n'
        'r = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "n"}}\n'
        'print(krmfn.match_gvk(r, "v1", "Pod"), krmfn.match_gvk(r, "v2", "Pod"),'
        ' krmfn.match_name(r, "a"), krmfn.match_namespace(r, "m"))',
        "True False True False",
    ),
    "several at once, over lines": (
        'load(\n  "hash.star", # one\n  "hash",\n)\nload("math.star", m = "math")\n'
        'print(m.floor(1.5), hash.md5("")[:4])', "1 d41d",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("source", "log"), LOADED.values(), ids=LOADED)
def test_what_a_module_offers(source: str, log: str) -> None:
    assert printed(source) == log


WRONG_USE = {
    "json.encode of a function": (
        'load("encoding/json.star", "json")\njson.encode(len)', "a Builtin cannot be",
    ),
    "json.encode of NaN": (
        'load("encoding/json.star", "json")\njson.encode(float("nan"))', "json.encode: ",
    ),
    "json.encode of another key": (
        'load("encoding/json.star", "json")\njson.encode({1: 2})', "json.encode: dict has int key",
    ),
    "json.decode of no JSON": (
        'load("encoding/json.star", "json")\njson.decode("{")', "json.decode: at offset 1",
    ),
    "a pattern that is none": ('load("re.star", "re")\nre.findall("(", "a")', "missing )"),
    "another encoding": (
        'load("encoding/base64.star", "base64")\nbase64.encode("a", "hex")',
        "unsupported encoding format: hex",
    ),
    "no base64": ('load("encoding/base64.star", "base64")\nbase64.decode("?")', "illegal base64"),
    "no number": ('load("math.star", "math")\nmath.ceil("1")', "ceil: got str, want float or int"),
    "too few for krmfn": (
        'load("krmfn.star", "krmfn")\nkrmfn.match_gvk({})', "match_gvk: got 1 arguments, want 3",
    ),
    "too many for a hash": (
        'load("hash.star", "hash")\nhash.md5("a", "b")', "hash.md5: got 2 arguments, want 1",
    ),
    "an argument that lacks": (
        'load("re.star", "re")\nre.sub("a", "b")', "sub: missing argument for string",
    ),
    "an argument that there is not": (
        'load("re.star", "re")\nre.sub("a", "b", "c", limit = 1)',
        'sub: unexpected keyword argument "limit"',
    ),
    "a row that is too short": (
        'load("encoding/csv.star", "csv")\ncsv.read_all("a\\n", fields_per_record = 2)',
        "record on line 1: wrong number of fields",
    ),
    "a comma of two": (
        'load("encoding/csv.star", "csv")\ncsv.read_all("a", comma = ";;")',
        "expected comma param to be a single-character string",
    ),
    "no YAML": ('load("encoding/yaml.star", "yaml")\nyaml.loads("[")', "yaml: "),
}  # fmt: skip


@pytest.mark.parametrize(("source", "said"), WRONG_USE.values(), ids=WRONG_USE)
def test_a_module_used_wrongly_fails_the_script(source: str, said: str) -> None:
    answer = run(source)
    assert answer.failed
    assert said in str(answer.results[0]["message"])


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ('ctx.resource_list["items"][0]["x"] = f', "Function"),
        ('ctx.resource_list["items"][0]["x"] = [{"y": len}]', "Builtin"),
        ('json.encode({"a": f, "b": ctx.resource_list["items"]})', "Function"),
    ],
)
def test_an_error_quotes_no_resource(source: str, kind: str) -> None:
    """Short-cut: show what the interpreter says, which quotes every value whole."""
    given = items("{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {p: hunter2}}")
    begin = 'load("encoding/json.star", "json")\ndef f(): pass\n'
    answer = run(begin + source, given)

    assert answer.failed
    assert "hunter2" not in answer.log + json.dumps(answer.results)
    assert f"a {kind} cannot be part of a resource" in json.dumps(answer.results)
