"""A run in a few lines, for people and for CI's output. Pure."""

from __future__ import annotations

from collections import Counter

from tests.chaos.checker import PROMISES
from tests.chaos.plan import Blow
from tests.chaos.run import Outcome

SHOWN = 20
"""So many violations are printed; the rest is counted."""


def report(outcome: Outcome) -> str:
    """What was done to it, and how each promise was kept."""
    plan, evidence = outcome.plan, outcome.evidence
    blows = outcome.blows
    kinds = Counter(row.kind for row in evidence.journal)
    hits = ", ".join(f"{blows.get(blow.value, 0)} × {blow.value}" for blow in Blow)
    did = ", ".join(f"{count} × {what}" for what, count in outcome.did.items())
    broken = Counter(violation.promise for violation in outcome.violations)
    accepted = sum(one.accepted for one in evidence.said)
    lines = [
        f"Chaos, seed {plan.seed}: {plan.threads} threads, {len(evidence.said)} messages "
        f"({accepted} acknowledged), {len(evidence.posted)} posts, {outcome.seconds:.0f} s",
        f"  blows: {hits}; {blows.get('faults', 0)} faults of Slack, "
        f"{blows.get('model failures', 0)} of the model",
        f"  besides: {did or 'nothing'}",
        f"  work: {kinds['ToolStarted']} calls, {kinds['Resumed']} turns resumed; ended: "
        f"{kinds['Answered']} answers, {kinds['Stopped']} stops, {kinds['Failed']} notices, "
        f"{kinds['ApprovalAsked']} questions",
        *(
            f"  {'FAILED' if broken[promise.__name__] else 'kept  '} {promise.__name__}: "
            f"{(promise.__doc__ or '').splitlines()[0]}"
            for promise in PROMISES
        ),
    ]
    lines += [f"  - {violation}" for violation in outcome.violations[:SHOWN]]
    if len(outcome.violations) > SHOWN:
        lines.append(f"  - and {len(outcome.violations) - SHOWN} more")
    return "\n".join(lines)
