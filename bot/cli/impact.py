"""`porchbot impact`: what a change would do to packages that it does not touch."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from bot import config
from bot.cli import impact_upgrades, progress, terminal
from bot.cli.disk.worktree import Base, WorkingTree
from bot.cli.dropin import CommandFailure, DropIn, Undetermined
from bot.cli.fn import options
from bot.cli.fn.runner import CommandFunctionRunner
from bot.cli.judging import as_line, judged_package, readable
from bot.cli.references import is_reference, refuse_address
from bot.look import impact_plan, impact_variants, rules, variant_rules
from bot.look import judging as judging_files
from cadlib.findings import Finding
from cadlib.package.files import KPTFILE
from lifecycle import impact as judging
from lifecycle.facts.impact import Impact, PackageImpact, VariantChange, VariantsImpact
from lifecycle.messages import impact as texts
from lifecycle.messages.findings import severity_first
from lifecycle.messages.markdown import plain
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy, Policy
from lifecycle.terms import AS_WRITTEN, Terms
from lifecycle.upstreams.locations import locate

MOST_RULES = 1024**2
"""Bytes of a file of rules that are read."""


@click.command(
    cls=DropIn,
    examples="""
    # Try the rules in the working tree on every package.
    $ porchbot impact .porchbot.yaml

    # Try other rules, compared with those of another branch.
    $ porchbot impact stricter.yaml --base origin/release

    # Try to upgrade all packages made from net/core to its version in the working tree.
    $ porchbot impact net/core

    # Try a pull request: its rules, and upgrades to the packages that it changes.
    $ GITHUB_TOKEN=$TOKEN porchbot impact acme/blueprints#12
    """,
)
@click.argument("what", metavar="PACKAGE | FILE | NUMBER | OWNER/NAME#NUMBER | URL")
@click.option(
    "--base",
    "wanted",
    default="",
    metavar="REF",
    help="With a file: the branch or commit whose packages and rules to compare with. Default:"
    " the default branch of the remote (origin/HEAD), otherwise main or master.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@options.images
@click.pass_context
def impact(
    context: click.Context, /, what: str, wanted: str, *, as_json: bool, **given: Any
) -> None:
    """Show what a change would do to other packages.

    Given a file, tries it in place of .porchbot.yaml: renders and validates every package of the
    base branch with the current rules and with the file, on this machine, and changes nothing. A
    file in .porchbot/ of the working tree is tried together with the .porchbot.yaml next to that
    folder, and so is a file with rules for variants or with resources that these select: what they
    would want is compared, without what is in other repositories. Given the folder of a package, or
    its Kptfile, tries to upgrade the packages of the base branch that were made from it to the
    version in the working tree.

    Given the number or address of a pull request (or merge request), tries its rules in the same
    way, and upgrades of the packages that were made from those it changes, as the check
    porchbot/impact does, but without packages in other repositories. It uses the same tokens as
    `porchbot check`.

    The exit status is 0 if nothing would fail or conflict, 1 if something would or rules for
    variants have errors, and 2 if that cannot be determined. For a file named 12, write ./12.
    """
    terms, wrong = AS_WRITTEN, tuple[Finding, ...]()
    try:
        if is_reference(what):
            from bot.cli import dryrun  # a second to read, and few need it

            if wanted:
                raise CommandFailure("a pull request has its own base branch: leave --base out")
            found, terms = dryrun.impact(what, options.wanted(given))
        else:
            refuse_address(what, "To try the files of a repository, clone it and name one of them")
            found, wrong = _of_file(Path(what), wanted, options.wanted(given))
    except CommandFailure as error:
        raise Undetermined(error.message) from error
    if as_json:
        click.echo(json.dumps(None if found is None else _as_json(found, wrong), indent=2))
    elif found is None:
        click.echo(texts.NOTHING)
    else:
        _tell(found, terms)
        for each in sorted(wrong, key=severity_first):
            click.echo(as_line(each))
    if found is not None and (found.breaks or found.variants.problems):
        context.exit(1)
    if found is not None and (found.left or any(each.problem for each in found.packages)):
        context.exit(2)


def _of_file(file: Path, wanted: str, runner: Any) -> tuple[Impact | None, tuple[Finding, ...]]:
    """Try a file on the packages of a base branch; and what is wrong in rules for variants."""
    if file.is_dir():
        if not (file / KPTFILE).is_file():
            raise CommandFailure(
                f"{file} is no package: it has no Kptfile. Name a package, or one file with rules"
            )
        file /= KPTFILE
    folder = file.parent
    if not folder.is_dir() or not file.is_file():
        raise CommandFailure(
            f"{file}: no such file. Name a package, a file with rules, or a pull request such as 12"
        )
    with WorkingTree(folder) as tree, CommandFunctionRunner(runner) as functions:
        base = tree.base(wanted)
        if file.name == KPTFILE:
            return impact_upgrades.tried(tree, base, _package_of(tree, file), functions), ()
        return _tried(tree, base, file, functions)


def _package_of(tree: WorkingTree, kptfile: Path) -> str:
    path = kptfile.resolve().parent.relative_to(tree.top.resolve()).as_posix()
    return "" if path == "." else path


def _tried(
    tree: WorkingTree, base: Base, file: Path, functions: CommandFunctionRunner
) -> tuple[Impact | None, tuple[Finding, ...]]:
    held = rules.of_base(tree.blob, base.commit, base.branch, base.default)
    inside = _is_inside(tree, file, held.policy)
    blob = tree.blob if inside else _instead(tree, file)
    tried = rules.of_base(blob, tree.tree(), base.branch, base.default)
    both = readable(held.policy, base.shown), readable(tried.policy, file)
    variants = _variants(tree, base, inside, both)
    trees = {p: t for p, (_, t) in tree.difference("", base.commit).packages.items() if t}
    trials = [*impact_plan.rules_trials(trees, tree.tags(), base.branch, base.default_branch, both)]
    if not trials and variants.nothing:
        return None, ()
    at = tree.tree() if inside else base.commit
    wrong = variant_rules.wrong(tree.trees, Sha(at), both[1].variants, tree.address())
    judged = judging.judged_otherwise(*both)
    found = Impact(
        base_ref=base.shown,
        base=base.commit,
        rules=bool(trials),
        total=len(trials),
        variants=variants,
    )
    for number, each in enumerate(trials):
        progress.at(f"trying {number} of {len(trials)}: {each.package or 'the root package'}")
        one = PackageImpact(package=each.package, merges=each.merges)
        if judged and texts.NOT_PUBLISHED not in each.merges:
            before, after = (
                judged_package(tree, each.package, (each.tree, each.tree), policy, functions)
                for policy in both
            )
            one = judging.by_rules(before, after, each.merges)
        found = judging.add(found, one)
    return judging.ended(found), wrong if variants.problems else ()


def _is_inside(tree: WorkingTree, file: Path, held: Policy | BrokenPolicy) -> bool:
    """Whether a file is one of the rules of the working tree."""
    path, top = file.resolve(), tree.top.resolve()
    if not path.is_relative_to(top):
        return False
    return judging_files.is_rule(path.relative_to(top).as_posix(), judging_files.paths(held))


def _variants(
    tree: WorkingTree, base: Base, inside: bool, both: tuple[Policy, Policy]
) -> VariantsImpact:
    """What rules for variants would want otherwise; of other repositories nothing is read."""
    held, tried = both
    if base.branch != base.default_branch or not (held.variants.files or tried.variants.files):
        return VariantsImpact()
    location = locate(tree.address())
    own = location.path if location else ""
    plan = impact_plan.ImpactPlan(
        head=Sha(tree.tree() if inside else base.commit),
        base_ref=base.branch,
        base=Sha(base.commit),
        held=held,
        now=held,
        origin=Sha(base.commit),
        wants=tried.variants,
        variants=True,
    )
    return impact_variants.alone(tree.trees, plan, own)


def _instead(tree: WorkingTree, file: Path) -> rules.Blob:
    """The files with rules, with one in the place of `.porchbot.yaml`."""
    with file.open("rb") as opened:
        data = opened.read(MOST_RULES + 1)

    def blob(commit: str, path: str) -> bytes | BrokenPolicy | None:
        return data if path == config.CONFIG else tree.blob(commit, path)

    return blob


def _tell(found: Impact, terms: Terms) -> None:
    click.echo(texts.title(found))
    for line in texts.summary(found, most=judging.MOST_DETAILED).splitlines():
        click.echo(terminal.line(plain(terms.said(line)).removeprefix("### ").replace("**", "")))


def _as_json(found: Impact, wrong: Sequence[Finding]) -> dict[str, object]:
    return {
        "title": texts.title(found),
        "breaks": found.breaks,
        "base": {"branch": found.base_ref, "commit": found.base},
        "packages": found.total + found.more,
        "tried": found.tried,
        "upstreams": list(found.upstreams),
        "notRun": list(found.not_run),
        "unseen": found.unseen,
        "changed": [_package(each) for each in found.packages],
        "variants": {
            "counts": {str(outcome): count for outcome, count in found.variants.counts},
            "notNamed": {str(outcome): count for outcome, count in found.variants.hidden},
            "unchanged": found.variants.same,
            "problems": found.variants.problems,
            "findings": [
                {"place": str(each.place), "text": each.message, "fix": each.fix} for each in wrong
            ],
            "changes": [_variant(each) for each in found.variants.changes],
        },
    }


def _variant(one: VariantChange) -> Mapping[str, object]:
    return {
        "outcome": str(one.outcome),
        "repository": one.repository,
        "package": one.package,
        "upstream": one.upstream,
        "before": one.was,
        "rule": one.rule,
    }


def _package(one: PackageImpact) -> Mapping[str, object]:
    return {
        "package": one.package,
        "repository": one.repository,
        "upstream": one.upstream,
        "fails": one.fails,
        "passesAgain": one.mends,
        "differences": one.changed,
        "changes": [str(each) for each in one.changes],
        "newFindings": one.found,
        "findings": [{"place": str(each.place), "text": each.message} for each in one.findings],
        "findingsLess": one.gone,
        "conflicts": one.conflicting,
        "merge": list(one.merges),
        "notTried": one.problem,
    }
