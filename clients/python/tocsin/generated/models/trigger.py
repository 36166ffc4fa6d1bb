from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.trigger_context_type_0 import TriggerContextType0
    from ..models.trigger_options_type_0 import TriggerOptionsType0


T = TypeVar("T", bound="Trigger")


@_attrs_define
class Trigger:
    """Members that do not exist are refused.

    Attributes:
        context (None | TriggerContextType0 | Unset): Data for the templates. It must fit the schema of the event if it
            has one.
        options (None | TriggerOptionsType0 | Unset): Options that do not exist are refused.
    """

    context: None | TriggerContextType0 | Unset = UNSET
    options: None | TriggerOptionsType0 | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.trigger_context_type_0 import TriggerContextType0  # noqa: PLC0415
        from ..models.trigger_options_type_0 import TriggerOptionsType0  # noqa: PLC0415

        context: dict[str, Any] | None | Unset
        if isinstance(self.context, Unset):
            context = UNSET
        elif isinstance(self.context, TriggerContextType0):
            context = self.context.to_dict()
        else:
            context = self.context

        options: dict[str, Any] | None | Unset
        if isinstance(self.options, Unset):
            options = UNSET
        elif isinstance(self.options, TriggerOptionsType0):
            options = self.options.to_dict()
        else:
            options = self.options

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if context is not UNSET:
            field_dict["context"] = context
        if options is not UNSET:
            field_dict["options"] = options

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.trigger_context_type_0 import TriggerContextType0  # noqa: PLC0415
        from ..models.trigger_options_type_0 import TriggerOptionsType0  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_context(data: object) -> None | TriggerContextType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                context_type_0 = TriggerContextType0.from_dict(data)

                return context_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | TriggerContextType0 | Unset, data)

        context = _parse_context(d.pop("context", UNSET))

        def _parse_options(data: object) -> None | TriggerOptionsType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                options_type_0 = TriggerOptionsType0.from_dict(data)

                return options_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | TriggerOptionsType0 | Unset, data)

        options = _parse_options(d.pop("options", UNSET))

        trigger = cls(
            context=context,
            options=options,
        )

        trigger.additional_properties = d
        return trigger

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
