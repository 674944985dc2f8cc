"""The frozen configuration of a run: unknown options are errors, and the run folder records all."""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from tflex.errors import TflexError
from tflex.models.predictors.links import LinkSettings
from tflex.reasoning.fuzzy import FuzzySettings


class ConfigError(TflexError):
    """An option that does not exist or has a wrong value."""


class Section(BaseModel):
    """A part of the configuration."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelConfig(Section):
    """Which embedding model, and its sizes."""

    spec: Literal["tflex", "tflex-published"] = "tflex"
    dim: int = Field(800, ge=1)
    hidden: tuple[int, ...] = (800, 800)
    margin: float = Field(15.0, gt=0)
    """γ; it also sets the range ±(γ + 2)/d in which tokens start."""
    logic_weight: float | None = None


class BatchConfig(Section):
    """What a batch is made of."""

    size: int = Field(512, ge=1)
    negatives: int = Field(128, ge=1)
    own_negatives: bool = False
    """Each query draws negatives of its own, instead of all sharing the batch's."""
    weights: dict[str, float] = Field(default_factory=dict)
    """Share of a batch by structure; 1 where none is given."""


class TrainingConfig(Section):
    """How the model is trained."""

    structures: str = "train"
    """`train` (the four groups of the paper), `all`, groups or names, with commas between them."""
    steps: int | None = Field(300_000, ge=1)
    minutes: float | None = Field(None, gt=0)
    learning_rate: float = Field(1e-4, gt=0)
    schedule: Literal["constant", "published", "cosine"] = "published"
    warm_up: int = Field(0, ge=0)
    loss: Literal["margin", "softmax"] = "margin"
    temperature: float = Field(1.0, gt=0)
    precision: Literal["fp32", "bf16"] = "fp32"
    clip: float | None = Field(None, gt=0)
    validate_every: int = Field(5_000, ge=1)
    validation_queries: int = Field(100, ge=1)
    """Validation queries of each structure."""
    patience: int | None = Field(None, ge=1)
    checkpoint_every: int = Field(1_000, ge=1)
    checkpoint_minutes: float = Field(5.0, gt=0)


class RunConfig(Section):
    """What every run has, whatever it trains."""

    kind: str
    preset: str
    seed: int = 0
    threads: int | None = Field(None, ge=1)


class EmbeddingConfig(RunConfig):
    """Everything that decides a run of an embedding model beside the data."""

    kind: Literal["embedding"] = "embedding"
    device: str = "auto"
    model: ModelConfig = ModelConfig()
    batch: BatchConfig = BatchConfig()
    training: TrainingConfig = TrainingConfig()


class LinksConfig(RunConfig):
    """Everything that decides a run of a link predictor beside the data."""

    kind: Literal["links"] = "links"
    minutes: float | None = Field(None, gt=0)
    """A budget; the epochs of the embedding models end when their share of it is spent."""
    links: LinkSettings = LinkSettings()


class FuzzyConfig(RunConfig):
    """Everything that decides a run of the fuzzy reasoner beside the data."""

    kind: Literal["fuzzy"] = "fuzzy"
    predictor: str | None = None
    """A finished run of a link predictor, which is taken over instead of training one."""
    minutes: float | None = Field(None, gt=0)
    """A budget for the link predictor; see `LinksConfig`."""
    links: LinkSettings = LinkSettings()
    fuzzy: FuzzySettings = FuzzySettings()
    """Where the choice of settings starts."""
    options: dict[str, list[Any]] = Field(default_factory=dict)
    """What is tried on validation queries, one option of `fuzzy` after the other."""
    gain: float = Field(0.002, ge=0)
    """What another value must add to the strict MRR: less is noise, and may cost time."""
    validation_queries: int = Field(20, ge=1)
    """Validation queries of each structure on which settings are chosen."""
    calibration_queries: int = Field(40, ge=1)
    """Validation queries of each structure on which thresholds are fitted."""

    @field_validator("options")
    @classmethod
    def _known(cls, options: dict[str, list[Any]]) -> dict[str, list[Any]]:
        for name, values in options.items():
            if name not in FuzzySettings.__dataclass_fields__:
                raise ValueError(f"fuzzy has no option {name}")
            for value in values:
                FuzzySettings(**{name: value})
        return options


AnyRun = EmbeddingConfig | LinksConfig | FuzzyConfig
_ANY: TypeAdapter[AnyRun] = TypeAdapter(Annotated[AnyRun, Field(discriminator="kind")])

Config = TypeVar("Config", bound=RunConfig)


def read_config(values: Any) -> AnyRun:
    """A configuration of any kind, from what its `model_dump` gave."""
    return _ANY.validate_python(values)


def changed(config: Config, assignments: list[str]) -> Config:
    """A configuration with `section.key=value` applied; values are read as JSON, else as text."""
    data = config.model_dump()
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        if not equals:
            raise ConfigError(f"--set takes section.key=value, not {assignment!r}")
        _assign(data, path.strip(), _value(text.strip()))
    try:
        return type(config).model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"{place}: {first['msg']} (got {first['input']!r})") from None


def _assign(data: dict[str, Any], path: str, value: Any) -> None:
    *sections, key = path.split(".")
    place = data
    for section in sections:
        if not isinstance(place.get(section), dict):
            raise _unknown(path, data)
        place = place[section]
    # These are tables by the name of a structure or of an option, so that any may be a key there.
    if key not in place and sections not in (["batch", "weights"], ["options"]):
        raise _unknown(path, data)
    place[key] = value


def _unknown(path: str, data: dict[str, Any]) -> ConfigError:
    known = list(_paths(data))
    near = get_close_matches(path, known, n=3, cutoff=0.4)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    return ConfigError(f"unknown option {path}{hint}")


def _paths(data: dict[str, Any], prefix: str = "") -> Any:
    for key, value in data.items():
        if isinstance(value, dict) and value:
            yield from _paths(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {"none": None, "None": None}.get(text, text)
