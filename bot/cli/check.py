"""`porchbot check`: what the bot would say of a git working tree after a push, or of a proposal."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from bot.cli import colour, terminal
from bot.cli.disk.worktree import Base, WorkingTree
from bot.cli.dropin import CommandFailure, DropIn, Undetermined, at_most
from bot.cli.fn import options
from bot.cli.fn.runner import CommandFunctionRunner
from bot.cli.judging import as_line, judged_package
from bot.cli.references import is_reference, refuse_address
from bot.look import rules, variant_rules
from cadlib.findings import Finding
from cadlib.package.files import join
from lifecycle import contents, names
from lifecycle.contents import CheckContent
from lifecycle.facts.checks import PUBLISH, RENDER, VALIDATE, Conclusion
from lifecycle.facts.verdicts import Verdict
from lifecycle.messages import naming
from lifecycle.messages.checks import BOT_RENDERS, render_commands
from lifecycle.messages.markdown import number, plain
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy, Policy, RenderMode
from lifecycle.terms import AS_WRITTEN


@click.command(
    cls=DropIn,
    examples="""
    # Check what differs from the default branch.
    $ porchbot check

    # Check against another branch, for example in a workflow.
    $ porchbot check --base origin/release

    # Check another working tree.
    $ porchbot check ../blueprints

    # Show what the bot would report on a pull request and do next; change nothing.
    $ GITHUB_TOKEN=$TOKEN porchbot check acme/blueprints#12

    # Show what it would report with other rules.
    $ GITHUB_TOKEN=$TOKEN porchbot check 12 --rules .porchbot.yaml
    """,
)
@click.argument("args", metavar="[DIR | NUMBER | OWNER/NAME#NUMBER | URL]", nargs=-1)
@click.option(
    "--base",
    "wanted",
    default="",
    metavar="REF",
    help="Branch that you will propose this to, or a commit. Default: the default branch"
    " of the remote (origin/HEAD), otherwise main or master.",
)
@click.option(
    "--rules",
    "tried",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With a pull request: a file to use instead of .porchbot.yaml on its base branch.",
)
@click.option("--json", "as_json", is_flag=True, help="With a pull request: print JSON.")
@options.images
@click.pass_context
def check(
    context: click.Context,
    /,
    args: tuple[str, ...],
    wanted: str,
    tried: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Check a git working tree, or a pull request, as the bot would.

    Renders and validates each package in the working tree around DIR (default: the current folder)
    that differs from the merge base with REF, with the guardrails of .porchbot.yaml at REF. The
    working tree is checked as it is, staged or not, and is not changed. The exit status is 0 if
    nothing blocks, otherwise 1.

    Given the number or address of a pull request (or merge request), it evaluates that as the bot
    would, without changing anything, and prints each gate with its rules and reasons, the checks,
    and what the bot would do next. GITHUB_TOKEN must be able to read the repository, and at GitLab
    GITLAB_TOKEN the project; PORCHBOT_APP_SLUG is the slug of the bot's App and
    PORCHBOT_GITLAB_LOGIN the bot's login, "porchbot" by default. With the variables of `porchbot
    serve` it asks as the bot, which can also read its signed records. The exit status is 0 if the
    request is ready, 1 if not, and 2 if that cannot be determined. For a folder named 12, write
    ./12.
    """
    at_most(args, 1)
    if args and is_reference(args[0]):
        from bot.cli import dryrun  # a second to read, and few need it

        try:
            if wanted:
                raise CommandFailure("a pull request has its own base branch: leave --base out")
            status = dryrun.run(args[0], options.wanted(given), tried, as_json=as_json)
        except CommandFailure as error:
            raise Undetermined(error.message) from error
        context.exit(status)
    if tried or as_json:
        raise CommandFailure("--rules and --json need a pull request: name one")
    folder = Path(args[0] if args else ".")
    try:
        refuse_address(str(*args), "To check a repository, clone it and name the folder")
    except CommandFailure as error:
        raise Undetermined(error.message) from error
    if not folder.is_dir():
        raise CommandFailure(f"{folder}: no such folder")
    with WorkingTree(folder) as tree, CommandFunctionRunner(options.wanted(given)) as functions:
        passed = _check(tree, tree.base(wanted), functions)
    if not passed:
        context.exit(1)


def _check(tree: WorkingTree, base: Base, functions: CommandFunctionRunner) -> bool:
    """Check a working tree, say what was found, and whether nothing blocks."""
    origin, now = tree.origin(base), tree.tree()
    held = rules.of_base(tree.blob, base.commit, base.branch, base.default)
    if isinstance(held.policy, BrokenPolicy):
        return _tell_broken(held.policy)
    found = rules.problems(tree.blob, now, origin)
    found += _variants(tree, origin, now) if held.published else ()
    trees: dict[str, tuple[str, str]] = {}
    if held.published:
        differs = tree.difference(origin, now).packages
        tags = tree.tags()
        units = names.changed_units(differs, held.policy, base.branch, base.default_branch, tags)
        trees = {package: differs[package] for package in sorted(units)}
        ledger = {p: rules.listed(tree.blob, base.commit, p) for p in trees}
        for numbers in ledger.values():
            if isinstance(numbers, BrokenPolicy):
                return _tell_broken(numbers)
        known = {p: n for p, n in ledger.items() if not isinstance(n, BrokenPolicy)}
        revisions = [(p, names.next_revision(p, tags, known)) for p in trees]
        here = [p for p in trees if trees[p][1]]
        found += naming.problems(here) + naming.used_up(revisions)
        found += naming.alike(tree.alike(now, here), [p for p in here if not trees[p][0]])
    if not trees:
        return _tell(PUBLISH, contents.nothing_touched(found), blocks=bool(found))
    click.echo(f"Compared with {base.shown}: {_listed(trees)}")
    there = [p for p in trees if trees[p][1]]
    judged = [judged_package(tree, p, trees[p], held.policy, functions) for p in there]
    return _tell_all(judged, found, held.policy, tree.current())


def _variants(tree: WorkingTree, origin: str, now: str) -> tuple[Finding, ...]:
    """What is wrong with rules for variants, where any of them differ."""
    policy = rules.configuration(tree.blob, now)
    if isinstance(policy, BrokenPolicy):
        return ()
    changed = tree.difference(origin, now).files
    return variant_rules.findings(tree.trees, Sha(now), policy.variants, changed, tree.address())


def _listed(trees: dict[str, tuple[str, str]]) -> str:
    shown = [
        (package or "root package") + ("" if trees[package][1] else " (removed)")
        for package in trees
    ]
    return terminal.line(f"{number(len(shown), 'package')} changed: {', '.join(shown)}")


def _tell_broken(policy: BrokenPolicy) -> bool:
    for problem in policy.problems:
        click.echo(terminal.line(str(problem)))
    return _tell(PUBLISH, contents.broken_base(policy), blocks=True)


def _tell_all(
    judged: Sequence[Verdict], found: Sequence[Finding], policy: Policy, branch: str
) -> bool:
    """Say what was found in packages; return whether nothing blocks."""
    render = contents.rendering(judged, policy, settles=True)
    validate = contents.validation(judged, found)
    for verdict in judged:
        if verdict.broken:
            name = verdict.package or "root package"
            click.echo(terminal.line(f"{name}: {verdict.broken}"))
    unrendered = [verdict for verdict in judged if verdict.changes]
    waits = any(verdict.broken or not verdict.complete for verdict in judged)
    # The bot commits to drafts what rendering makes, so nobody has to.
    pushed = policy.render is RenderMode.COMMIT and branch.startswith(names.DRAFTS) and not waits
    for line in _unrendered(unrendered, policy, pushed=pushed) if unrendered else ():
        click.echo(line)
    rendered = _tell(RENDER, render, blocks=not pushed)
    return _tell(VALIDATE, validate, blocks=True) and rendered


def _unrendered(unrendered: Sequence[Verdict], policy: Policy, *, pushed: bool) -> Iterator[str]:
    """What rendering would change, and how to do it."""
    yield "Rendering changes:"
    lines = [join(v.package, str(change)) for v in unrendered for change in v.rendering]
    paths = [path for v in unrendered for path in sorted(v.changes)]
    yield from (f"  {terminal.line(line)}" for line in lines or paths)
    if pushed:
        yield BOT_RENDERS
        return
    yield "Render and commit:"
    yield from (
        f"  {AS_WRITTEN.said(line)}" for line in render_commands(unrendered, policy, "porchbot")
    )


def _tell(name: str, shown: CheckContent, *, blocks: bool) -> bool:
    """Say what a check would show; return whether it lets through."""
    for finding in shown.annotations:
        click.echo(as_line(finding))
    passed = shown.conclusion is Conclusion.SUCCESS
    word = colour.out("passed", "green") if passed else colour.out("failed", "red")
    if not passed and not blocks:
        word = colour.out("waits", "yellow")
    click.echo(f"{name}: {word}: {terminal.line(plain(shown.title))}")
    return passed or not blocks
