from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.key_input_grants_item import KeyInputGrantsItem
from ..types import UNSET, Unset

T = TypeVar("T", bound="KeyInput")


@_attrs_define
class KeyInput:
    """
    Attributes:
        name (str):
        grants (list[KeyInputGrantsItem]):
        project (None | str | Unset): Slug of the project that it shall be limited to.
        application (None | str | Unset): Slug of the application that it shall be limited to; needs `project`.
        at_most_normal (bool | None | Unset): Without it, false.
        expires (datetime.datetime | None | Unset): When it ends. Without it, never.
    """

    name: str
    grants: list[KeyInputGrantsItem]
    project: None | str | Unset = UNSET
    application: None | str | Unset = UNSET
    at_most_normal: bool | None | Unset = UNSET
    expires: datetime.datetime | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        grants = []
        for grants_item_data in self.grants:
            grants_item = grants_item_data.value
            grants.append(grants_item)

        project: None | str | Unset
        if isinstance(self.project, Unset):
            project = UNSET
        else:
            project = self.project

        application: None | str | Unset
        if isinstance(self.application, Unset):
            application = UNSET
        else:
            application = self.application

        at_most_normal: bool | None | Unset
        if isinstance(self.at_most_normal, Unset):
            at_most_normal = UNSET
        else:
            at_most_normal = self.at_most_normal

        expires: None | str | Unset
        if isinstance(self.expires, Unset):
            expires = UNSET
        elif isinstance(self.expires, datetime.datetime):
            expires = self.expires.isoformat()
        else:
            expires = self.expires

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "name": name,
                "grants": grants,
            }
        )
        if project is not UNSET:
            field_dict["project"] = project
        if application is not UNSET:
            field_dict["application"] = application
        if at_most_normal is not UNSET:
            field_dict["at_most_normal"] = at_most_normal
        if expires is not UNSET:
            field_dict["expires"] = expires

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name")

        grants = []
        _grants = d.pop("grants")
        for grants_item_data in _grants:
            grants_item = KeyInputGrantsItem(grants_item_data)

            grants.append(grants_item)

        def _parse_project(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        project = _parse_project(d.pop("project", UNSET))

        def _parse_application(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        application = _parse_application(d.pop("application", UNSET))

        def _parse_at_most_normal(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        at_most_normal = _parse_at_most_normal(d.pop("at_most_normal", UNSET))

        def _parse_expires(data: object) -> datetime.datetime | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                expires_type_0 = datetime.datetime.fromisoformat(data)

                return expires_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None | Unset, data)

        expires = _parse_expires(d.pop("expires", UNSET))

        key_input = cls(
            name=name,
            grants=grants,
            project=project,
            application=application,
            at_most_normal=at_most_normal,
            expires=expires,
        )

        key_input.additional_properties = d
        return key_input

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
