from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="Cancelled")


@_attrs_define
class Cancelled:
    """
    Attributes:
        occurrence (int): Id of the occurrence.
        cancelled (datetime.datetime | None): When it was cancelled; null when nothing was left to cancel.
    """

    occurrence: int
    cancelled: datetime.datetime | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        occurrence = self.occurrence

        cancelled: None | str
        if isinstance(self.cancelled, datetime.datetime):
            cancelled = self.cancelled.isoformat()
        else:
            cancelled = self.cancelled

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "occurrence": occurrence,
                "cancelled": cancelled,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        occurrence = d.pop("occurrence")

        def _parse_cancelled(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                cancelled_type_0 = datetime.datetime.fromisoformat(data)

                return cancelled_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        cancelled = _parse_cancelled(d.pop("cancelled"))

        cancelled = cls(
            occurrence=occurrence,
            cancelled=cancelled,
        )

        cancelled.additional_properties = d
        return cancelled

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
