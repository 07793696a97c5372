"""Which rule a cited label counts for: the audit and the playbook give the same answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import playbook
from retro.app.settlement.settings import rules_of
from retro.evaluate.audit.rules import AuditRules
from retro.periods import zone

MERGED = """\
## Global

- H-2 [0.60] Follow the breakout {tags: breakout, size_up}

## Retired

- H-9 [0.30] Size up when right {tags: size_up; status: retired}
"""
"""H-9 was merged into H-2, which took its label over; the retired line stands below."""


def claimed_in_audit(text: str) -> dict[str, str]:
    return dict(AuditRules(rules=rules_of(playbook.parse(text), zone("UTC"))).claims)


def test_a_merged_rule_keeps_the_labels_of_the_one_it_took_in() -> None:
    assert claimed_in_audit(MERGED) == {"breakout": "H-2", "size_up": "H-2"}


@pytest.mark.parametrize("number", [1, 12])
def test_a_retired_rule_keeps_a_label_that_nobody_else_claims(number: int) -> None:
    text = f"## Retired\n\n- H-{number} [0.30] Fade {{tags: fade; status: retired}}\n"
    assert claimed_in_audit(text) == {"fade": f"H-{number}"}


_RULES = st.lists(
    st.tuples(st.integers(1, 4), st.lists(st.sampled_from("abc"), max_size=3, unique=True), st.booleans()),
    max_size=6,
)


@given(_RULES)
def test_audit_and_playbook_agree_on_every_label(rules: list[tuple[int, list[str], bool]]) -> None:
    lines = ["## Global", ""]
    for number, tags, retired in rules:
        fields = [*([f"tags: {', '.join(tags)}"] if tags else []), *(["status: retired"] if retired else [])]
        lines.append(
            f"- H-{number} [0.40] Rule {{{'; '.join(fields)}}}" if fields else f"- H-{number} [0.40] Rule"
        )
    text = "\n".join(lines) + "\n"
    assert claimed_in_audit(text) == playbook.claims(playbook.parse(text).heuristics)
