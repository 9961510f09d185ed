"""Runs one function: selects its input, and takes its outcome into the package."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cadlib.errors import PackageError
from cadlib.findings import Finding, Severity, from_result
from cadlib.kptfile.reader import PipelineFunction
from cadlib.package.source import ParsedPackage, Resource
from cadlib.render import functions, places
from cadlib.render import selectors as select
from cadlib.render.calls import GUARDRAIL, CallOutcome, Driven, FunctionCall, Step
from cadlib.render.functions import Options
from cadlib.render.given import Given
from cadlib.render.returned import FunctionOutput, NoAnswerError, answered, handed_back, unchanged
from cadlib.yaml import Value

Watch = Callable[[Step], None]
"""Told of each step as soon as it has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineStep:
    """A function at its place.

    Attributes:
        function: The function.
        package: The package whose pipeline it is part of; "" for the root.
        step: Its place in the pipeline, such as "mutators[0]".
        source: "pipeline", "guardrail" or "command".
    """

    function: PipelineFunction
    package: str
    step: str
    source: str

    @property
    def mutates(self) -> bool:
        """Whether what it makes of the resources counts."""
        return self.step.startswith("mutators")


@dataclass(slots=True)
class Running:
    """Runs functions on the resources of one package tree, and keeps what they said.

    Attributes:
        source: The package as it was given.
        options: How to run them.
        watch: Told of each step.
        findings: What they said, and what they did wrong, so far.
        steps: The functions so far, in order.
    """

    source: ParsedPackage
    options: Options
    watch: Watch
    findings: list[Finding] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    _given: Given = field(default_factory=Given, init=False)

    def run(
        self, task: PipelineStep, config: Value, resources: list[Resource]
    ) -> Driven[tuple[list[Resource], bool]]:
        """Run a function.

        Args:
            task: The function.
            config: Its configuration.
            resources: All resources of its package now; its selectors choose from them.

        Returns:
            The resources after it, and whether it did its work and kept the rules; where it
            did not, or may not change any, they are those given.
        """
        chosen = select.selects(task.function)
        given = resources
        if chosen:
            given = [each for each in resources if select.selected(task.function, each.value)]
        call = self._call(task, config, given, counted=chosen)
        outcome = yield call
        answer = self._answer(task, call, outcome, given)
        if not answer.ok or not task.mutates:
            return resources, answer.ok
        if not chosen:
            return answer.resources, True
        return select.merged(resources, given, answer.resources, answer.was), True

    def refuse(self, task: PipelineStep, error: str, *, called: bool = False) -> None:
        """Record a function that is not run, and why; `called` is as in `Step`."""
        self._add(
            Step(
                image=self._image(task),
                exec=task.function.exec,
                name=task.function.name,
                package=task.package,
                step=task.step,
                source=task.source,
                ok=False,
                exit_code=1,
                error=error,
                called=called,
                listed=False,
            )
        )

    def _image(self, task: PipelineStep) -> str:
        try:
            return functions.image(task.function, self.options)
        except PackageError:
            return task.function.image

    def _call(
        self, task: PipelineStep, config: Value, resources: list[Resource], *, counted: bool
    ) -> FunctionCall:
        return FunctionCall(
            image=functions.image(task.function, self.options),
            exec=task.function.exec,
            given=self._given.of(self.source, task.package, resources),
            config=config,
            package=task.package,
            step=task.step,
            source=task.source,
            counted=counted,
        )

    def _answer(
        self, task: PipelineStep, call: FunctionCall, outcome: CallOutcome, sent: list[Resource]
    ) -> FunctionOutput:
        """Read an outcome; take down what the function said, and that it ran."""
        answer = _read(task, call, outcome, sent)
        said = outcome.results or answer.results
        found = self._findings(task, call, outcome, said, sent)
        problem = "" if outcome.error or not answer.problem else answer.problem.problem
        if outcome.error:
            complained = any(each.severity is Severity.ERROR for each in found)
            answer = replace(answer, problem=None, ok=False)
            if not complained:
                found.append(_failure(task, call, outcome))
        elif answer.problem:
            found.append(_breach(task, call, answer.problem))
        guardrail = task.step if task.source == GUARDRAIL else ""
        self.findings += [replace(each, guardrail=guardrail) for each in found]
        unrun = outcome.error if outcome.error and outcome.exit_code is None else ""
        self._add(
            Step(
                image=call.image,
                exec=call.exec,
                name=task.function.name,
                package=call.package,
                step=call.step,
                source=call.source,
                said=said,
                log=outcome.log,
                ok=answer.ok,
                exit_code=outcome.exit_code or (0 if answer.ok else 1),
                error=unrun or problem,
                listed=not problem or isinstance(answer.problem, NoAnswerError),
                digest=outcome.digest,
            )
        )
        return answer

    def _findings(
        self,
        task: PipelineStep,
        call: FunctionCall,
        outcome: CallOutcome,
        said: Sequence[Mapping[str, object]],
        sent: Sequence[Resource],
    ) -> list[Finding]:
        if self.options.as_kpt:  # which tells what functions say as they say it: see the steps
            told = said if outcome.error else ()
            return [from_result(each, function=call.function) for each in told]
        return places.findings(
            said,
            image=call.function,
            package=call.package,
            calls=functions.place(task.function),
            source=self.source,
            resources=sent,
        )

    def _add(self, step: Step) -> None:
        self.steps.append(step)
        self.watch(step)


def _read(
    task: PipelineStep, call: FunctionCall, outcome: CallOutcome, sent: list[Resource]
) -> FunctionOutput:
    if outcome.items is not None:
        return handed_back(
            outcome.items, sent, call.package, given=call.items, mutates=task.mutates
        )
    if outcome.resources == call.resources:  # it changed nothing and said nothing
        return unchanged(sent)
    return answered(
        outcome.resources, sent, call.package, given=call.resources, mutates=task.mutates
    )


def _failure(task: PipelineStep, call: FunctionCall, outcome: CallOutcome) -> Finding:
    what = "cannot be run here" if outcome.fix else "failed"
    return Finding(
        message=f"the function {what}: {outcome.error}",
        severity=Severity.ERROR,
        place=functions.place(task.function),
        function=call.function,
        fix=outcome.fix or "Look at what it says, then at its configuration and the resources",
    )


def _breach(task: PipelineStep, call: FunctionCall, problem: PackageError) -> Finding:
    return Finding(
        message=f"the function returned invalid output: {problem.problem}",
        severity=Severity.ERROR,
        place=functions.place(task.function),
        function=call.function,
        fix=problem.fix,
    )


def tasks(
    package: str,
    mutators: Sequence[PipelineFunction],
    validators: Sequence[PipelineFunction],
    source: str,
) -> list[PipelineStep]:
    """Return the functions of a pipeline in the order in which they run."""
    named = [(f"mutators[{n}]", each) for n, each in enumerate(mutators)]
    named += [(f"validators[{n}]", each) for n, each in enumerate(validators)]
    return [
        PipelineStep(function=each, package=package, step=step, source=source)
        for step, each in named
    ]
