"""What a document has by the ten thousand: parts without a dictionary each, read and written like any `Document`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, ParamSpec, TypeVar

from pydantic import ConfigDict, TypeAdapter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Self

    from pydantic.fields import FieldInfo
    from pydantic_core import SchemaSerializer, SchemaValidator

__all__ = ["CLOSED", "SlottedDocument", "new"]

CLOSED: Final = ConfigDict(extra="forbid", allow_inf_nan=False, ser_json_inf_nan="constants")
"""No field but its own, no number that is none."""


class _Fields:
    """The fields of a form by name, as a model of pydantic's has them."""

    def __get__(self, document: object, form: type[SlottedDocument]) -> dict[str, FieldInfo]:
        """Of the form, whether a document of it is asked or the form itself."""
        return form.__pydantic_fields__


@cache
def _slots_of(form: type[Any]) -> list[tuple[Callable[[object], Any], Callable[[object, Any], None]]]:
    """What reads and what fills each slot of a form, in declared order, past its being frozen."""
    slots = [getattr(form, name) for name in form.__pydantic_fields__]
    return [(slot.__get__, slot.__set__) for slot in slots]


class SlottedDocument:
    """A frozen dataclass of pydantic's with slots, and the methods that a model of pydantic's has.

    The dictionary of a model with 46 fields takes 1.6 kB, its slots 0.4: a week may have 20,000 positions.
    """

    __slots__ = ()

    model_fields: ClassVar = _Fields()

    if TYPE_CHECKING:
        __pydantic_fields__: ClassVar[dict[str, FieldInfo]]
        __pydantic_serializer__: ClassVar[SchemaSerializer]
        __pydantic_validator__: ClassVar[SchemaValidator]

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Its fields by name, in declared order."""
        for name in self.__pydantic_fields__:
            yield name, getattr(self, name)

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self:
        """A copy with some fields changed, which are not validated."""
        form = type(self)
        copy = object.__new__(form)
        for read, fill in _slots_of(form):  # type: ignore[arg-type]  # a form has a hash
            fill(copy, read(self))
        for name, value in (update or {}).items():
            object.__setattr__(copy, name, value)
        return copy

    def model_dump(
        self, *, mode: Literal["json", "python"] = "python", include: set[str] | None = None
    ) -> dict[str, Any]:
        """Its fields as a dictionary, those of its parts too."""
        fields: dict[str, Any] = self.__pydantic_serializer__.to_python(self, mode=mode, include=include)
        return fields

    def model_dump_json(self) -> str:
        """Its fields as JSON on one line."""
        return self.__pydantic_serializer__.to_json(self).decode()

    @classmethod
    def model_validate(cls, value: Any) -> Self:
        """The document of a dictionary."""
        document: Self = cls.__pydantic_validator__.validate_python(value)
        return document

    @classmethod
    def model_validate_json(cls, text: str | bytes) -> Self:
        """The document of a JSON text."""
        document: Self = cls.__pydantic_validator__.validate_json(text)
        return document

    @classmethod
    def model_json_schema(
        cls, *, mode: Literal["validation", "serialization"] = "validation"
    ) -> dict[str, Any]:
        """What its JSON is made of."""
        return TypeAdapter(cls).json_schema(mode=mode)


_Given = ParamSpec("_Given")
_Form = TypeVar("_Form", bound=SlottedDocument)


def new(form: Callable[_Given, _Form], *_: _Given.args, **fields: _Given.kwargs) -> _Form:
    """A document of a form, validated as by calling the form, in half the time: a week writes a hundred thousand."""
    document: _Form = form.__pydantic_validator__.validate_python(fields)  # type: ignore[attr-defined]
    return document
