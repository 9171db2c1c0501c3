"""A project's labels may be kept in a file in place of the rows."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotate', '0128_predictions'),
    ]

    operations = [
        migrations.CreateModel(
            name='LabelArchive',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('file', models.FileField(upload_to='label-archives/')),
                ('sha256', models.CharField(max_length=64)),
                ('state', models.CharField(choices=[('removing', 'Rows are being removed from the database'), ('archived', 'The file alone holds the rows'), ('restoring', 'Rows are being brought back')], default='removing', max_length=10)),
                ('n_presentations', models.PositiveBigIntegerField()),
                ('n_labels', models.PositiveBigIntegerField()),
                ('n_unvoided', models.PositiveBigIntegerField()),
                ('made_at', models.DateTimeField()),
                ('drops_people', models.BooleanField(default=False)),
                ('drops_texts', models.BooleanField(default=False)),
                ('project', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='label_archive', to='annotate.project')),
            ],
        ),
    ]
