"""The dashboard and the alert rules ask for metrics that there are, and alerts fire when due."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from tests.bot.test_metrics import PAGE, PROMTOOL, declared

OPERATE = PAGE.parent
ALERTS = OPERATE / "alerts.yml"
GRAFANA = OPERATE / "grafana.json"

TARGET = {"job", "instance"}
"""Labels that Prometheus adds."""


def rules() -> list[dict[str, Any]]:
    """The alerts."""
    read = yaml.safe_load(ALERTS.read_text())
    return [rule for group in read["groups"] for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    """What the dashboard shows, rows left out."""
    return [p for p in json.loads(GRAFANA.read_text())["panels"] if p["type"] != "row"]


def queries() -> Iterator[tuple[str, str]]:
    """Where each query stands, and the query."""
    for rule in rules():
        yield rule["alert"], rule["expr"]
    for panel in panels():
        for target in panel["targets"]:
            yield panel["title"], target["expr"].replace("$__rate_interval", "5m")


def wrong(query: str) -> list[str]:
    """What a query asks for that there is not."""
    known, said = declared(), []
    labels = {"le"} | TARGET
    asked: set[str] = set()

    def visit(node: promql_parser.Expr) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            name = str(node.name)
            base = re.sub(r"_(bucket|count|sum)$", "", name)
            histogram = base != name and known.get(base, ("", ""))[0] == "histogram"
            kind, told = known.get(base if histogram else name, ("", ""))
            if not kind and name != "up":
                said.append(f"no metric {name}")
            own = set(re.findall(r"\w+", told))
            labels.update(own)
            said.extend(
                f"{name} has no label {m.name}"
                for m in node.matchers.matchers
                if m.name not in own | TARGET | {"le"}
            )
        if isinstance(node, promql_parser.AggregateExpr) and node.modifier is not None:
            asked.update(node.modifier.labels)

    promql_parser.walk(promql_parser.parse(query), visit)
    return said + [f"nothing here has a label {name}" for name in sorted(asked - labels)]


def test_what_is_asked_for_is_there() -> None:
    """Short-cut refused: a dashboard made once; a metric that is renamed leaves an empty panel."""
    found = {f"{where}: {query}": wrong(query) for where, query in queries()}

    assert len(found) > 30
    assert {where: said for where, said in found.items() if said} == {}


def test_what_is_not_there_is_found() -> None:
    assert wrong("sum(porchbot_made_up_total)") == ["no metric porchbot_made_up_total"]
    assert wrong('porchbot_work_keys{queue="x"}') == ["porchbot_work_keys has no label queue"]
    assert wrong("sum by (why) (porchbot_database_up)") == ["nothing here has a label why"]


def test_every_alert_says_what_to_do() -> None:
    """Short-cut refused: an alert whose meaning is known to who wrote it."""
    page = PAGE.read_text()
    for rule in rules():
        name = rule["alert"]
        assert rule["annotations"]["summary"].endswith("."), name
        assert rule["labels"]["severity"] in {"critical", "warning"}, name
        assert rule["annotations"]["runbook"] == f"docs/operate/watching.md#{name.lower()}"
        (row,) = re.findall(rf'(?m)^\| <a id="{name.lower()}"></a>`{name}` \|(.+)\|(.+)\|$', page)
        assert all(len(cell.split()) > 1 for cell in row), name
    assert len(re.findall(r'(?m)^\| <a id="', page)) == len(rules())


def test_the_dashboard_can_be_imported() -> None:
    """Each panel has a number of its own, a place of its own, and asks whom the reader chose."""
    every = json.loads(GRAFANA.read_text())["panels"]

    assert len({panel["id"] for panel in every}) == len(every)
    taken: set[tuple[int, int]] = set()
    for panel in every:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert at["x"] + at["w"] <= 24, panel["title"]
        assert not taken & cells, panel["title"]
        taken |= cells
    for panel in panels():
        assert panel["description"], panel["title"]
        for target in panel["targets"]:
            assert target["datasource"]["uid"] == "${datasource}", panel["title"]


CASES = """
rule_files: [{rules}]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {{series: 'up{{job="porchbot", instance="a"}}', values: '1x5 0x30'}}
      - {{series: 'up{{job="porchbot", instance="b"}}', values: '1x10 0x30'}}
      - {{series: 'porchbot_database_up{{instance="a"}}', values: '1x40'}}
      - {{series: 'porchbot_database_up{{instance="b"}}', values: '1x10 0x30'}}
      - {{series: 'porchbot_work_keys{{kind="pull",state="failing",instance="a"}}', values: '3x60'}}
      - {{series: 'porchbot_work_keys{{kind="pull",state="failing",instance="b"}}', values: '3x60'}}
      - {{series: 'porchbot_work_keys{{kind="base",state="failing",instance="b"}}', values: '1x60'}}
      - {{series: 'porchbot_forge_requests_total{{status="200"}}', values: '0+10x60'}}
      - {{series: 'porchbot_forge_requests_total{{status="502"}}', values: '0x30 0+10x30'}}
    alert_rule_test:
      - {{eval_time: 9m, alertname: PorchbotDown}}
      - eval_time: 14m
        alertname: PorchbotDown
        exp_alerts:
          - exp_labels: {{severity: critical}}
            exp_annotations:
              summary: No process of porchbot answers.
              runbook: "docs/operate/watching.md#porchbotdown"
      - {{eval_time: 12m, alertname: PorchbotDatabaseDown}}
      - eval_time: 14m
        alertname: PorchbotDatabaseDown
        exp_alerts:
          - exp_labels: {{severity: critical}}
            exp_annotations:
              summary: A process of porchbot cannot reach its database.
              runbook: "docs/operate/watching.md#porchbotdatabasedown"
      - {{eval_time: 29m, alertname: PorchbotKeysFail}}
      - eval_time: 31m
        alertname: PorchbotKeysFail
        exp_alerts:
          - exp_labels: {{severity: warning}}
            exp_annotations:
              summary: "4 keys have been failing for half an hour."
              runbook: "docs/operate/watching.md#porchbotkeysfail"
      - {{eval_time: 30m, alertname: PorchbotForgeFails}}
      - eval_time: 59m
        alertname: PorchbotForgeFails
        exp_alerts:
          - exp_labels: {{severity: warning}}
            exp_annotations:
              summary: "50% of the requests to the forge fail."
              runbook: "docs/operate/watching.md#porchbotforgefails"
"""


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
def test_alerts_fire_when_they_are_due_and_not_before(tmp_path: Path) -> None:
    """Short-cut refused: rules that parse; one that counts a key once a process is never right."""
    cases = tmp_path / "cases.yml"
    cases.write_text(CASES.format(rules=json.dumps(str(ALERTS))))

    for command in (["check", "rules", str(ALERTS)], ["test", "rules", str(cases)]):
        ran = subprocess.run([str(PROMTOOL), *command], capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
