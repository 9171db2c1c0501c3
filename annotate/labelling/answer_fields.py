"""What people and machines answer through the API, by the places of the items shown."""

from rest_framework import serializers

from annotate.api.base import StrictSerializer
from annotate.models import MAX_ITEMS_SHOWN


class PlacesAnswer(StrictSerializer):
    chosen = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=0,
        max_value=MAX_ITEMS_SHOWN - 1,
        help_text="The place of the chosen item; only for a choice.",
    )
    order = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=MAX_ITEMS_SHOWN - 1),
        required=False,
        default=list,
        max_length=MAX_ITEMS_SHOWN,
        help_text="Places, best first: for a ranking, or the best and the worst.",
    )
    shared = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=MAX_ITEMS_SHOWN - 1),
        required=False,
        default=list,
        max_length=MAX_ITEMS_SHOWN,
        help_text="Which entries of `order`, from 0, share the place of the entry before; only where places may be "
        "shared.",
    )
