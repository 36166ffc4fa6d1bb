from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.assignment import Assignment
    from ..models.membership import Membership
    from ..models.registered_addresses_item import RegisteredAddressesItem
    from ..models.registered_distribution_list_type_0 import (
        RegisteredDistributionListType0,
    )
    from ..models.registered_user import RegisteredUser


T = TypeVar("T", bound="Registered")


@_attrs_define
class Registered:
    """
    Attributes:
        user (RegisteredUser):
        created (bool): Whether the user was created.
        membership (Membership): What the application records about the user. Notifications of the application are
            delivered only when the membership is
            active, not locked and has notifications enabled.
        addresses (list[RegisteredAddressesItem]):
        assignments (list[Assignment]):
        skipped (list[str]): The addresses that asked for a preferred channel and found none.
        distribution_list (None | RegisteredDistributionListType0): `null` when the payload named no list.
    """

    user: RegisteredUser
    created: bool
    membership: Membership
    addresses: list[RegisteredAddressesItem]
    assignments: list[Assignment]
    skipped: list[str]
    distribution_list: None | RegisteredDistributionListType0
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.registered_distribution_list_type_0 import (
            RegisteredDistributionListType0,  # noqa: PLC0415
        )

        user = self.user.to_dict()

        created = self.created

        membership = self.membership.to_dict()

        addresses = []
        for addresses_item_data in self.addresses:
            addresses_item = addresses_item_data.to_dict()
            addresses.append(addresses_item)

        assignments = []
        for assignments_item_data in self.assignments:
            assignments_item = assignments_item_data.to_dict()
            assignments.append(assignments_item)

        skipped = self.skipped

        distribution_list: dict[str, Any] | None
        if isinstance(self.distribution_list, RegisteredDistributionListType0):
            distribution_list = self.distribution_list.to_dict()
        else:
            distribution_list = self.distribution_list

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "user": user,
                "created": created,
                "membership": membership,
                "addresses": addresses,
                "assignments": assignments,
                "skipped": skipped,
                "distribution_list": distribution_list,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.assignment import Assignment  # noqa: PLC0415
        from ..models.membership import Membership  # noqa: PLC0415
        from ..models.registered_addresses_item import (
            RegisteredAddressesItem,  # noqa: PLC0415
        )
        from ..models.registered_distribution_list_type_0 import (
            RegisteredDistributionListType0,  # noqa: PLC0415
        )
        from ..models.registered_user import RegisteredUser  # noqa: PLC0415

        d = dict(src_dict)
        user = RegisteredUser.from_dict(d.pop("user"))

        created = d.pop("created")

        membership = Membership.from_dict(d.pop("membership"))

        addresses = []
        _addresses = d.pop("addresses")
        for addresses_item_data in _addresses:
            addresses_item = RegisteredAddressesItem.from_dict(addresses_item_data)

            addresses.append(addresses_item)

        assignments = []
        _assignments = d.pop("assignments")
        for assignments_item_data in _assignments:
            assignments_item = Assignment.from_dict(assignments_item_data)

            assignments.append(assignments_item)

        skipped = cast(list[str], d.pop("skipped"))

        def _parse_distribution_list(
            data: object,
        ) -> None | RegisteredDistributionListType0:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                distribution_list_type_0 = RegisteredDistributionListType0.from_dict(
                    data
                )

                return distribution_list_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | RegisteredDistributionListType0, data)

        distribution_list = _parse_distribution_list(d.pop("distribution_list"))

        registered = cls(
            user=user,
            created=created,
            membership=membership,
            addresses=addresses,
            assignments=assignments,
            skipped=skipped,
            distribution_list=distribution_list,
        )

        registered.additional_properties = d
        return registered

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
