from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("annotate", "0105_shared_places"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='item',
            name='what_its_kind_needs',
        ),
        migrations.AlterField(
            model_name='item',
            name='kind',
            field=models.CharField(choices=[('text', 'Text'), ('markdown', 'Markdown'), ('html', 'HTML'), ('chat', 'Chat'), ('image', 'Image'), ('audio', 'Audio'), ('video', 'Video'), ('link', 'Link'), ('sections', 'Several sections')], default='text', max_length=10),
        ),
        migrations.AddConstraint(
            model_name='item',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind__in', ['image', 'audio', 'video']), ('link', ''), models.Q(('media', ''), _negated=True)), models.Q(('kind', 'link'), ('media', ''), models.Q(('link', ''), _negated=True)), models.Q(('kind__in', ['text', 'markdown', 'html', 'chat', 'sections']), ('link', ''), ('media', '')), _connector='OR'), name='what_its_kind_needs'),
        ),
    ]
