"""Records: experiments and hypotheses as YAML files that people and agents both read.

`DIRECTORY/experiments/ID.yaml` holds one experiment each, `DIRECTORY/hypotheses.yaml` the registry. People may edit
both: their comments, layout and keys survive our writes. A damaged file is told of, passed over and left as it is.
"""

from __future__ import annotations

from memory.records.assessment import (
    ASSESSMENT_PROMPT,
    ASSESSMENT_SCHEMA,
    NoAnswer,
    ParsedAssessment,
    parse_assessment,
    record_assessment,
)
from memory.records.brief import brief
from memory.records.experiment import (
    EXPERIMENTS_DIR,
    MEMORY_DIR,
    ExperimentRecord,
    Experiments,
    generate_experiment_id,
    load_experiments,
    read_experiments,
    save_experiment,
)
from memory.records.files import Busy, Trouble
from memory.records.hypothesis import (
    HYPOTHESES_FILE,
    Hypotheses,
    Hypothesis,
    generate_hypothesis_id,
    get_all_hypotheses,
    get_open_hypotheses,
    read_hypotheses,
    save_hypothesis,
    update_hypothesis_status,
)
from memory.records.imports import Imported, import_records
from memory.records.judgement import Claim, Judgement, keep
from memory.records.owner import agent_of_experiment, agent_of_hypothesis, owners_of
from memory.records.prompt import prompt_section
from memory.records.splice import Unwritable
from memory.records.transfer import (
    AgentRecords,
    forget_records,
    import_copies,
    reassign_records,
    records_of_agent,
)

__all__ = [
    "ASSESSMENT_PROMPT",
    "ASSESSMENT_SCHEMA",
    "EXPERIMENTS_DIR",
    "HYPOTHESES_FILE",
    "MEMORY_DIR",
    "AgentRecords",
    "Busy",
    "Claim",
    "ExperimentRecord",
    "Experiments",
    "Hypotheses",
    "Hypothesis",
    "Imported",
    "Judgement",
    "NoAnswer",
    "ParsedAssessment",
    "Trouble",
    "Unwritable",
    "agent_of_experiment",
    "agent_of_hypothesis",
    "brief",
    "forget_records",
    "generate_experiment_id",
    "generate_hypothesis_id",
    "get_all_hypotheses",
    "get_open_hypotheses",
    "import_copies",
    "import_records",
    "keep",
    "load_experiments",
    "owners_of",
    "parse_assessment",
    "prompt_section",
    "read_experiments",
    "read_hypotheses",
    "reassign_records",
    "record_assessment",
    "records_of_agent",
    "save_experiment",
    "save_hypothesis",
    "update_hypothesis_status",
]
