from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.explanation_candidates_item_gates_item import (
        ExplanationCandidatesItemGatesItem,
    )


T = TypeVar("T", bound="ExplanationCandidatesItem")


@_attrs_define
class ExplanationCandidatesItem:
    """
    Attributes:
        notification (str):
        address (str):
        channel (str):
        on_list (bool):
        subscribed (bool):
        would_be_delivered (bool):
        verdict (str):
        gates (list[ExplanationCandidatesItemGatesItem]):
    """

    notification: str
    address: str
    channel: str
    on_list: bool
    subscribed: bool
    would_be_delivered: bool
    verdict: str
    gates: list[ExplanationCandidatesItemGatesItem]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        notification = self.notification

        address = self.address

        channel = self.channel

        on_list = self.on_list

        subscribed = self.subscribed

        would_be_delivered = self.would_be_delivered

        verdict = self.verdict

        gates = []
        for gates_item_data in self.gates:
            gates_item = gates_item_data.to_dict()
            gates.append(gates_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "notification": notification,
                "address": address,
                "channel": channel,
                "on_list": on_list,
                "subscribed": subscribed,
                "would_be_delivered": would_be_delivered,
                "verdict": verdict,
                "gates": gates,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.explanation_candidates_item_gates_item import (
            ExplanationCandidatesItemGatesItem,  # noqa: PLC0415
        )

        d = dict(src_dict)
        notification = d.pop("notification")

        address = d.pop("address")

        channel = d.pop("channel")

        on_list = d.pop("on_list")

        subscribed = d.pop("subscribed")

        would_be_delivered = d.pop("would_be_delivered")

        verdict = d.pop("verdict")

        gates = []
        _gates = d.pop("gates")
        for gates_item_data in _gates:
            gates_item = ExplanationCandidatesItemGatesItem.from_dict(gates_item_data)

            gates.append(gates_item)

        explanation_candidates_item = cls(
            notification=notification,
            address=address,
            channel=channel,
            on_list=on_list,
            subscribed=subscribed,
            would_be_delivered=would_be_delivered,
            verdict=verdict,
            gates=gates,
        )

        explanation_candidates_item.additional_properties = d
        return explanation_candidates_item

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
