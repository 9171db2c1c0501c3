"""Addresses of the items pages and operations."""

from django.urls import path

from annotate.api.routes import PROJECT
from annotate.items import api, views
from annotate.items.captions import api as captions_api
from annotate.items.captions import views as captions_views
from annotate.items.media import views as media_views

urlpatterns = [
    path("media/items/<int:item_id>/", media_views.item_media, name="item-media"),
    path("media/items/<int:item_id>/pages/<int:number>/", media_views.item_page, name="item-page"),
    path("media/items/<int:item_id>/captions.vtt", media_views.item_captions, name="item-captions"),
    path("projects/<uuid:project_id>/items/", views.table, name="items"),
    path("projects/<uuid:project_id>/items/<int:item_id>/captions/", captions_views.captions, name="captions"),
]

api_urlpatterns = [
    path(f"{PROJECT}items/", api.Items.as_view(), name="api-items"),
    path(f"{PROJECT}items/<int:item_id>/", api.ItemView.as_view(), name="api-item"),
    path(f"{PROJECT}items/<int:item_id>/media/", api.ItemMedia.as_view(), name="api-item-media"),
    path(f"{PROJECT}items/<int:item_id>/pages/<int:number>/", api.ItemPageView.as_view(), name="api-item-page"),
    path(f"{PROJECT}items/<int:item_id>/captions/", captions_api.ItemCaptions.as_view(), name="api-item-captions"),
]
