from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="Triggered")


@_attrs_define
class Triggered:
    """
    Attributes:
        occurrence (int): Id of the occurrence.
        recipients (int | Unset): How many people would get at least one message at the time of the trigger; a dry run
            gives the details. It is counted
            only when that is cheap. It is absent when `limit_to` has more than 200 names, when without `limit_to` the lists
            and
            subscriptions of the event have more than 100 entries, and when more than four triggers of the event arrive at
            once.
    """

    occurrence: int
    recipients: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        occurrence = self.occurrence

        recipients = self.recipients

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "occurrence": occurrence,
            }
        )
        if recipients is not UNSET:
            field_dict["recipients"] = recipients

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        occurrence = d.pop("occurrence")

        recipients = d.pop("recipients", UNSET)

        triggered = cls(
            occurrence=occurrence,
            recipients=recipients,
        )

        triggered.additional_properties = d
        return triggered

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
