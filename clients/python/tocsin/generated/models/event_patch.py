from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.event_patch_priority_type_1 import EventPatchPriorityType1
from ..models.event_patch_priority_type_2_type_1 import EventPatchPriorityType2Type1
from ..models.event_patch_priority_type_3_type_1 import EventPatchPriorityType3Type1
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.event_patch_context_schema_type_0 import EventPatchContextSchemaType0
    from ..models.event_patch_example_type_0 import EventPatchExampleType0


T = TypeVar("T", bound="EventPatch")


@_attrs_define
class EventPatch:
    """
    Attributes:
        name (None | str | Unset):
        description (None | str | Unset):
        active (bool | None | Unset):
        priority (EventPatchPriorityType1 | EventPatchPriorityType2Type1 | EventPatchPriorityType3Type1 | None | Unset):
        channels (list[str] | None | Unset):
        pools (list[str] | None | Unset): Names of pools: the event may use whatever channels are their members.
        context_schema (EventPatchContextSchemaType0 | None | Unset): JSON Schema that the context of a trigger must
            fit.
        example (EventPatchExampleType0 | None | Unset): An example context, for authors of templates.
    """

    name: None | str | Unset = UNSET
    description: None | str | Unset = UNSET
    active: bool | None | Unset = UNSET
    priority: (
        EventPatchPriorityType1
        | EventPatchPriorityType2Type1
        | EventPatchPriorityType3Type1
        | None
        | Unset
    ) = UNSET
    channels: list[str] | None | Unset = UNSET
    pools: list[str] | None | Unset = UNSET
    context_schema: EventPatchContextSchemaType0 | None | Unset = UNSET
    example: EventPatchExampleType0 | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.event_patch_context_schema_type_0 import (
            EventPatchContextSchemaType0,  # noqa: PLC0415
        )
        from ..models.event_patch_example_type_0 import (
            EventPatchExampleType0,  # noqa: PLC0415
        )

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        description: None | str | Unset
        if isinstance(self.description, Unset):
            description = UNSET
        else:
            description = self.description

        active: bool | None | Unset
        if isinstance(self.active, Unset):
            active = UNSET
        else:
            active = self.active

        priority: None | str | Unset
        if isinstance(self.priority, Unset):
            priority = UNSET
        elif isinstance(self.priority, EventPatchPriorityType1):
            priority = self.priority.value
        elif isinstance(self.priority, EventPatchPriorityType2Type1):
            priority = self.priority.value
        elif isinstance(self.priority, EventPatchPriorityType3Type1):
            priority = self.priority.value
        else:
            priority = self.priority

        channels: list[str] | None | Unset
        if isinstance(self.channels, Unset):
            channels = UNSET
        elif isinstance(self.channels, list):
            channels = self.channels

        else:
            channels = self.channels

        pools: list[str] | None | Unset
        if isinstance(self.pools, Unset):
            pools = UNSET
        elif isinstance(self.pools, list):
            pools = self.pools

        else:
            pools = self.pools

        context_schema: dict[str, Any] | None | Unset
        if isinstance(self.context_schema, Unset):
            context_schema = UNSET
        elif isinstance(self.context_schema, EventPatchContextSchemaType0):
            context_schema = self.context_schema.to_dict()
        else:
            context_schema = self.context_schema

        example: dict[str, Any] | None | Unset
        if isinstance(self.example, Unset):
            example = UNSET
        elif isinstance(self.example, EventPatchExampleType0):
            example = self.example.to_dict()
        else:
            example = self.example

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if name is not UNSET:
            field_dict["name"] = name
        if description is not UNSET:
            field_dict["description"] = description
        if active is not UNSET:
            field_dict["active"] = active
        if priority is not UNSET:
            field_dict["priority"] = priority
        if channels is not UNSET:
            field_dict["channels"] = channels
        if pools is not UNSET:
            field_dict["pools"] = pools
        if context_schema is not UNSET:
            field_dict["context_schema"] = context_schema
        if example is not UNSET:
            field_dict["example"] = example

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.event_patch_context_schema_type_0 import (
            EventPatchContextSchemaType0,  # noqa: PLC0415
        )
        from ..models.event_patch_example_type_0 import (
            EventPatchExampleType0,  # noqa: PLC0415
        )

        d = dict(src_dict)

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        def _parse_description(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        description = _parse_description(d.pop("description", UNSET))

        def _parse_active(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        active = _parse_active(d.pop("active", UNSET))

        def _parse_priority(
            data: object,
        ) -> (
            EventPatchPriorityType1
            | EventPatchPriorityType2Type1
            | EventPatchPriorityType3Type1
            | None
            | Unset
        ):
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                priority_type_1 = EventPatchPriorityType1(data)

                return priority_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, str):
                    raise TypeError()
                priority_type_2_type_1 = EventPatchPriorityType2Type1(data)

                return priority_type_2_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, str):
                    raise TypeError()
                priority_type_3_type_1 = EventPatchPriorityType3Type1(data)

                return priority_type_3_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(
                EventPatchPriorityType1
                | EventPatchPriorityType2Type1
                | EventPatchPriorityType3Type1
                | None
                | Unset,
                data,
            )

        priority = _parse_priority(d.pop("priority", UNSET))

        def _parse_channels(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                channels_type_0 = cast(list[str], data)

                return channels_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        channels = _parse_channels(d.pop("channels", UNSET))

        def _parse_pools(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                pools_type_0 = cast(list[str], data)

                return pools_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        pools = _parse_pools(d.pop("pools", UNSET))

        def _parse_context_schema(
            data: object,
        ) -> EventPatchContextSchemaType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                context_schema_type_0 = EventPatchContextSchemaType0.from_dict(data)

                return context_schema_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(EventPatchContextSchemaType0 | None | Unset, data)

        context_schema = _parse_context_schema(d.pop("context_schema", UNSET))

        def _parse_example(data: object) -> EventPatchExampleType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                example_type_0 = EventPatchExampleType0.from_dict(data)

                return example_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(EventPatchExampleType0 | None | Unset, data)

        example = _parse_example(d.pop("example", UNSET))

        event_patch = cls(
            name=name,
            description=description,
            active=active,
            priority=priority,
            channels=channels,
            pools=pools,
            context_schema=context_schema,
            example=example,
        )

        event_patch.additional_properties = d
        return event_patch

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
