from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="DeliveryCounts")


@_attrs_define
class DeliveryCounts:
    """How many deliveries are in each state.

    Attributes:
        pending (int):
        sending (int):
        retrying (int):
        sent (int):
        failed (int):
        skipped (int):
    """

    pending: int
    sending: int
    retrying: int
    sent: int
    failed: int
    skipped: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        pending = self.pending

        sending = self.sending

        retrying = self.retrying

        sent = self.sent

        failed = self.failed

        skipped = self.skipped

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "pending": pending,
                "sending": sending,
                "retrying": retrying,
                "sent": sent,
                "failed": failed,
                "skipped": skipped,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        pending = d.pop("pending")

        sending = d.pop("sending")

        retrying = d.pop("retrying")

        sent = d.pop("sent")

        failed = d.pop("failed")

        skipped = d.pop("skipped")

        delivery_counts = cls(
            pending=pending,
            sending=sending,
            retrying=retrying,
            sent=sent,
            failed=failed,
            skipped=skipped,
        )

        delivery_counts.additional_properties = d
        return delivery_counts

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
