"""The `[retrospective]` table: what is reviewed, when, and by which thresholds.

Names and defaults are those of the Slow Mirror's specification, with a few keys of our own between them.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, ValidationInfo, field_validator

from retro.config import shapes  # noqa: TC001 - pydantic reads the annotations when it makes the class
from retro.config.shapes import ConfigTable

__all__ = ["RetrospectiveTable"]

Unit = Literal["usd", "r", "bps"]
_LIMITS: Final[dict[Unit, tuple[str, str]]] = {
    "usd": ("heuristic_demote_threshold", "heuristic_investigate_threshold"),
    "r": ("heuristic_demote_threshold_r", "heuristic_investigate_threshold_r"),
    "bps": ("heuristic_demote_threshold_bps", "heuristic_investigate_threshold_bps"),
}


class RetrospectiveTable(ConfigTable):
    """What is reviewed, when, and by which thresholds."""

    daily_review_enabled: bool = Field(default=True, description="every day")
    weekly_review_enabled: bool = Field(default=True, description="every ISO week")
    epoch_review_enabled: bool = Field(default=True, description="every epoch")
    epoch_interval_days: Annotated[int, Field(ge=1, le=366)] = Field(
        default=30, description="days of an epoch, of new agents"
    )
    position_close_review: bool = Field(default=True, description="every position, when it closes")
    loss_review_threshold_pct: shapes.Positive = Field(
        default=5.0, description="one action loses more than this percentage of equity: reviewed at once"
    )
    review_inference_tier: shapes.Tier = Field(
        default="T1", description="[llm] t1_model words the reviews; T0: no model does"
    )
    epoch_inference_tier: shapes.Tier = Field(
        default="T2", description="[llm] t2_model words epoch and death reviews"
    )
    trajectory_checkpoint_intervals: shapes.Durations = Field(
        default=("1h", "4h", "1d", "3d", "7d", "14d", "30d"),
        description="Checkpoints after entry, as far as the position lived.",
    )
    settle_lag_hours: Annotated[float, Field(ge=0, le=720, allow_inf_nan=False)] = Field(
        default=1.0, description="a period is reviewed this long after its end"
    )
    use_highs_lows: bool = Field(
        default=False, description="extremes from candle highs and lows, as if they could be traded"
    )
    lot_method: Literal["fifo", "average"] = Field(
        default="fifo", description="fifo or average: splits gains from losses"
    )
    entry_outcome: Literal["final_pnl", "vs_inaction"] = Field(
        default="final_pnl", description="what a cited entry is judged by: final_pnl or vs_inaction"
    )
    annualisation_days: Annotated[int, Field(ge=1, le=366)] = Field(
        default=365, description="days a year in a Sharpe ratio"
    )
    heuristic_min_citations: shapes.Count = Field(
        default=3, description="fewer resolved citations: insufficient data"
    )
    heuristic_demote_threshold: shapes.Number = Field(
        default=-1.0, description="dollars: average outcome below this: demote"
    )
    heuristic_investigate_threshold: shapes.Number = Field(
        default=0.5, description="dollars: average outcome below this: investigate"
    )
    heuristic_demote_threshold_r: shapes.Number = Field(
        default=-0.1, description="the same in R: a tenth of what was risked"
    )
    heuristic_investigate_threshold_r: shapes.Number = Field(default=0.05, description="the same in R")
    heuristic_demote_threshold_bps: shapes.Number = Field(
        default=-10.0, description="in basis points of notional: half the usual fees of a round trip"
    )
    heuristic_investigate_threshold_bps: shapes.Number = Field(
        default=5.0, description="in basis points of notional"
    )
    heuristic_threshold_unit: Unit | None = Field(
        default=None,
        examples=["r"],
        description="Unit of verdicts: usd, r or bps (of notional), also for re-tagging; default: of a bot r where the risk of most positions is known, else bps; of others usd where money is dollars, else bps. Where you state one, changed thresholds without a unit in their name count in it",
    )
    attribution_decay: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = Field(
        default=0.995, description="kept of a decision's weight with each later one"
    )
    residual_buffer_size: shapes.Count = Field(
        default=200, description="residuals kept of each category and regime"
    )
    residual_min_samples: shapes.Count = Field(default=30, description="samples before correction begins")
    conformal_quantile: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] = Field(
        default=0.90, description="coverage its intervals aim at"
    )
    calibration_min_samples: shapes.Count = Field(default=30, description="samples before the first fit")
    calibration_refit_interval: shapes.Count = Field(default=50, description="samples between fits")
    ece_alarm_threshold: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = Field(
        default=0.25, description="expected calibration error above this: the owner is told"
    )
    tier_comparison_min_samples: shapes.Count = Field(
        default=20, description="samples of each tier before they are compared"
    )
    tier_switch_threshold: shapes.Positive = Field(
        default=1.5, description="T1/T2 effectiveness ratio that suggests a shift"
    )
    dollars_per_accuracy_point: shapes.NotNegative | None = Field(
        default=None,
        examples=[0.02],
        description="worth of one point of accuracy a prediction; default: not asked",
    )
    meta_learning_enabled: bool = Field(default=True, description="watch whether the agent still learns")
    meta_negative_weeks_before_hayflick: shapes.Count = Field(
        default=2, description="weeks of negative score before ageing speeds up"
    )
    meta_hayflick_acceleration: shapes.NotNegative = Field(default=0.10, description="per further week")
    max_shadow_strategies: Annotated[int, Field(ge=0, le=100)] = Field(
        default=3, description="run beside the real one"
    )
    shadow_min_duration_days: shapes.Count = Field(default=7, description="days before a shadow is judged")
    shadow_promote_threshold: shapes.NotNegative = Field(
        default=0.10, description="by this fraction a shadow must be better"
    )

    @field_validator(*(investigate for _, investigate in _LIMITS.values()))
    @classmethod
    def _above_demote(cls, value: float, info: ValidationInfo) -> float:
        key = next(demote for demote, investigate in _LIMITS.values() if investigate == info.field_name)
        demote = info.data.get(key)
        if demote is not None and value < demote:
            raise ValueError(f"must not lie below {key} ({demote:g})")
        return value

    def heuristic_limits(self, unit: Unit) -> tuple[float, float]:
        """The averages below which a heuristic is demoted, and investigated, in a unit.

        Those that name no unit count in the stated one, where they were changed and its own were not.
        """
        is_stated = unit == self.heuristic_threshold_unit
        first = is_stated and self._is_changed("usd") and not self._is_changed(unit)
        demote, investigate = _LIMITS["usd" if first else unit]
        return getattr(self, demote), getattr(self, investigate)

    def _is_changed(self, unit: Unit) -> bool:
        fields = type(self).model_fields
        return any(getattr(self, name) != fields[name].default for name in _LIMITS[unit])

    @field_validator("residual_min_samples")
    @classmethod
    def _fits_the_buffer(cls, value: int, info: ValidationInfo) -> int:
        size = info.data.get("residual_buffer_size")
        if size is not None and value > size:
            raise ValueError(f"must not exceed residual_buffer_size ({size})")
        return value
