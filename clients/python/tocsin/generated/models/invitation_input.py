from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="InvitationInput")


@_attrs_define
class InvitationInput:
    """
    Attributes:
        reset_factors (bool | None | Unset): Whether the user has lost the second factor, and starts without one.
            Without it, false.
    """

    reset_factors: bool | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        reset_factors: bool | None | Unset
        if isinstance(self.reset_factors, Unset):
            reset_factors = UNSET
        else:
            reset_factors = self.reset_factors

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if reset_factors is not UNSET:
            field_dict["reset_factors"] = reset_factors

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_reset_factors(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        reset_factors = _parse_reset_factors(d.pop("reset_factors", UNSET))

        invitation_input = cls(
            reset_factors=reset_factors,
        )

        invitation_input.additional_properties = d
        return invitation_input

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
