"""`porchbot fn eval`: run one function on a folder, or on a stream of resources."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bot.cli import terminal
from bot.cli.disk import folder, parallel
from bot.cli.dropin import CommandFailure, DropIn
from bot.cli.fn import config, options, place
from bot.cli.fn.report import RunReport
from bot.cli.fn.runner import CommandFunctionRunner
from cadlib import images
from cadlib.errors import PackageError, Place
from cadlib.kptfile.reader import PipelineFunction, Selector
from cadlib.package.files import KPTFILE
from cadlib.render import evaluate as evaluation
from cadlib.render.functions import Options
from cadlib.stream import kio
from cadlib.yaml import Value

if TYPE_CHECKING:
    from cadlib.kptfile import edit as kptfile_edit

_ARGS = "function arguments"
_STEPS: dict[str, "kptfile_edit.Step"] = {"mutator": "mutators", "validator": "validators"}
_CONTAINER = "--mount, --as-current-user, --network and --env"


class _Eval(DropIn):
    """Keeps what stands behind `--` apart: it is for the function."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Read the arguments."""
        at = args.index("--") if "--" in args else len(args)
        context = super().make_context(info_name, args[:at], parent, **extra)
        context.meta[_ARGS] = args[at + 1 :]
        return context


def _selecting(command: Any) -> Any:
    for verb, does in (("exclude", "leave out"), ("match", "select")):
        for what in ("annotations", "labels"):
            option = click.option(
                f"--{verb}-{what}", multiple=True, metavar="KEY=VALUE", help=f"{does} by {what}"
            )
            command = option(command)
        for what in ("namespace", "name", "kind", "api-version"):
            command = click.option(f"--{verb}-{what}", default="", help=f"{does} by {what}")(
                command
            )
    return command


@click.command(
    "eval",
    cls=_Eval,
    examples="""
    # Label all resources in the current folder.
    $ porchbot fn eval --image set-labels:v0.2 -- tier=backend

    # Run a function on one file.
    $ porchbot fn eval shop/deployment.yaml --image set-namespace:v0.4 -- namespace=shop
    """,
)
@click.argument("args", metavar="[DIR | FILE | -] [-- fn-args]", nargs=-1)
@click.option("-i", "--image", default="", help="The function's image.")
@click.option(
    "--tag",
    default="",
    metavar="TAG",
    help="A tag, a version or a range of versions (~0.2, >=0.1 <0.3) in place of the image's tag.",
)
@click.option("--exec", "exec_", default="", metavar="COMMAND", help="A command as the function.")
@click.option("--fn-config", default="", metavar="FILE", help="The function's configuration.")
@click.option("-s", "--save", is_flag=True, help="Add the function to the Kptfile's pipeline.")
@click.option("-t", "--type", "type_", default="", metavar="mutator|validator", help="For --save.")
@click.option("-m", "--include-meta-resources", is_flag=True, hidden=True)
@click.option("--network", is_flag=True, help="Let the image use the network.")
@click.option("--as-current-user", is_flag=True, help="Accepted; an image never has your rights.")
@click.option(
    "-e", "--env", multiple=True, metavar="NAME[=VALUE]", help="A variable for the image."
)
@click.option("--mount", multiple=True, hidden=True)
@_selecting
@options.running
@click.pass_context
def evaluate(context: click.Context, /, args: tuple[str, ...], **given: Any) -> None:
    """Run one function on the resources of DIR, by default the current folder, or of one FILE.

    With "-" they are read from standard input. The arguments after "--", each key=value, are the
    function's configuration.
    """
    request = _request(args, context.meta[_ARGS], given)
    place.check_output(request.output)
    report = RunReport(truncate=given["truncate_output"])
    with CommandFunctionRunner(options.wanted(given)) as functions:
        how = Options(as_kpt=True, allow_exec=True, tags=functions.tags, prefix=request.prefix)
        if request.folder == "-":
            result = _stream(request, report, how, functions)
        else:
            result = _folder(request, report, how, functions)
    place.save_results(request.results_dir, result.steps)
    if result.failed:
        raise CommandFailure(_told(result.error)) if result.error else Silent()
    for finding in result.findings:
        terminal.say(f"[WARN] {finding}", err=True)


def _told(error: PackageError) -> str:
    """Return what went wrong: kpt's words where they say where, else place and remedy too."""
    return error.problem if error.place.path in error.problem else str(error)


class Silent(CommandFailure):
    """Ends the command without a message: the function's results say why."""

    def __init__(self) -> None:
        super().__init__("")

    def show(self, file: Any = None) -> None:
        """Print nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What to run on what."""

    folder: str
    function: PipelineFunction
    config: Value
    config_path: str
    save: "kptfile_edit.Step | None"
    output: str
    results_dir: str
    prefix: str


def _request(args: Sequence[str], fn_args: Sequence[str], given: dict[str, Any]) -> _Request:
    if given["include_meta_resources"]:
        raise CommandFailure(
            "--include-meta-resources is no longer necessary because meta resources are now"
            " included by default"
        )
    if not (given["image"] or given["exec_"]):
        raise CommandFailure("must specify --image or --exec")
    if given["tag"] and not given["image"]:
        raise CommandFailure("--tag can only be used with --image")
    save, kind = given["save"], given["type_"]
    if kind and kind not in _STEPS:
        raise CommandFailure("--type must be either `mutator` or `validator`")
    if save and not kind:
        raise CommandFailure(
            "--type must be specified if saving functions to Kptfile (--save=true)"
        )
    if len(args) > 1:
        raise CommandFailure("0 or 1 arguments supported, function arguments go after '--'")
    path = given["fn_config"]
    if fn_args and path:
        raise CommandFailure(
            "function arguments can only be specified without function config file"
        )
    container = any(given[key] for key in ("network", "as_current_user", "env", "mount"))
    if given["exec_"] and not given["image"] and container:
        raise CommandFailure(f"{_CONTAINER} can only be used with container functions")
    prefix = options.prefix(given["image_prefix"])
    where = args[0] if args else "."
    settings = config.of_args(fn_args) if not path else config.of_file(path)
    return _Request(
        folder=where,
        function=_function(given, prefix),
        config=settings,
        config_path=path,
        save=_STEPS[kind] if save else None,
        output=given["output"],
        results_dir=given["results_dir"],
        prefix=prefix,
    )


def _function(given: dict[str, Any], prefix: str) -> PipelineFunction:
    if not given["image"]:
        from bot.cli.fn import command

        try:
            command.words(given["exec_"])
        except command.CommandError as error:
            raise CommandFailure(str(error)) from error
    matched, excluded = _selector("match", given), _selector("exclude", given)
    return PipelineFunction(
        image=_image(given, prefix) if given["image"] else "",
        tag=given["tag"],
        place=Place("the command line"),
        exec="" if given["image"] else given["exec_"],
        selectors=(matched,) if matched != Selector() else (),
        exclude=(excluded,) if excluded != Selector() else (),
    )


def _image(given: dict[str, Any], prefix: str) -> str:
    """Return the full name of the image; with a `--tag` that says more, its own may be missing."""
    name = images.full_name if given["tag"] else images.resolve_image
    return name(given["image"], prefix)


def _selector(verb: str, given: dict[str, Any]) -> Selector:
    return Selector(
        api_version=given[f"{verb}_api_version"],
        kind=given[f"{verb}_kind"],
        name=given[f"{verb}_name"],
        namespace=given[f"{verb}_namespace"],
        labels=_pairs(f"--{verb}-labels", given[f"{verb}_labels"]),
        annotations=_pairs(f"--{verb}-annotations", given[f"{verb}_annotations"]),
    )


def _pairs(option: str, texts: Sequence[str]) -> dict[str, str]:
    for text in texts:
        if "=" not in text:
            raise CommandFailure(f"{option} {text!r}: must have a key and a value separated by =")
    pairs = (text.partition("=") for text in texts)
    return {key: value for key, _, value in pairs}


def _stream(
    request: _Request, report: RunReport, how: Options, functions: CommandFunctionRunner
) -> evaluation.Evaluated:
    from cadlib.stream import listing

    steps = evaluation.evaluate_stream(
        place.received(), request.function, request.config, options=how, watch=report.step
    )
    result = functions.drive(steps, report.call)
    if result.failed:
        return result
    match request.output:
        case "" | place.STDOUT:
            place.emit(kio.write(result.items, wrapper=kio.RESOURCE_LIST))
        case place.UNWRAP:
            place.emit(kio.write(listing.plain(result.items)))
        case _:
            folder.write(Path(request.output), listing.files(result.items))
    if request.save:
        _not_saved()
    return result


def _folder(
    request: _Request, report: RunReport, how: Options, functions: CommandFunctionRunner
) -> evaluation.Evaluated:
    path, files = place.found_or_file(request.folder)
    inside = _inside(path, request.config_path)
    if request.save and request.config_path and not inside:
        raise CommandFailure(
            f"--fn-config must be under {path} if saving functions to Kptfile (--save=true)"
        )
    with parallel.bulk() as bulk:
        steps = evaluation.evaluate(
            files,
            request.function,
            request.config,
            left_out=inside,
            bulk=bulk,
            options=how,
            watch=report.step,
        )
        result = functions.drive(steps, report.call)
    if result.failed:
        theirs = place.no_yaml(path, files, result.error) if result.error else ""
        if theirs:
            raise CommandFailure(theirs)
        return result
    if request.output:
        place.write_output(request.output, place.changed(files, result.changes))
    else:
        folder.write(path, result.changes)
    if request.save:
        _save(request, request.save, path, inside)
    return result


def _inside(path: Path, file: str) -> str:
    """Return a file's path relative to a folder; "" if it does not lie there."""
    if not file:
        return ""
    real = Path(os.path.realpath(file))
    return real.relative_to(path).as_posix() if real.is_relative_to(path) else ""


def _save(request: _Request, step: "kptfile_edit.Step", path: Path, config_path: str) -> None:
    """Add the function to the Kptfile."""
    kptfile = path / KPTFILE
    if not kptfile.is_file():
        _not_saved()
        return
    data = request.config.get("data") if isinstance(request.config, dict) else None
    texts = {key: str(text) for key, text in data.items()} if isinstance(data, dict) else {}
    function = PipelineFunction(
        image=request.function.image,
        tag=request.function.tag,
        exec=request.function.exec,
        config_path=config_path or None,
        config_map=texts if texts and not config_path else None,
        selectors=request.function.selectors,
        exclude=request.function.exclude,
    )
    from cadlib.kptfile import edit as kptfile_edit

    new, message = kptfile_edit.add_function(kptfile.read_bytes(), function, step)
    folder.write(path, {KPTFILE: new})
    terminal.say(message, err=True)


def _not_saved() -> None:
    terminal.say("function not added: Kptfile not exists", err=True)
