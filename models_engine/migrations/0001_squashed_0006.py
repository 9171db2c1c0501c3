import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [('models_engine', '0001_initial'), ('models_engine', '0002_tastes'), ('models_engine', '0003_fits_by_criterion'), ('models_engine', '0004_answer_counts'), ('models_engine', '0005_scores_and_classes'), ('models_engine', '0006_leaderboards')]

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Fit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('project_id', models.UUIDField()),
                ('criterion', models.PositiveSmallIntegerField(default=1)),
                ('number', models.PositiveIntegerField()),
                ('estimator', models.CharField(max_length=50)),
                ('settings', models.JSONField(default=dict)),
                ('seed', models.PositiveBigIntegerField(default=0)),
                ('data_version', models.PositiveBigIntegerField()),
                ('data_hash', models.CharField(blank=True, max_length=64)),
                ('n_labels', models.PositiveIntegerField(default=0)),
                ('n_items', models.PositiveIntegerField(default=0)),
                ('n_annotators', models.PositiveIntegerField(default=0)),
                ('n_parts', models.PositiveIntegerField(default=0)),
                ('status', models.CharField(choices=[('running', 'Running'), ('done', 'Done'), ('failed', 'Failed')], default='running', max_length=10)),
                ('published', models.BooleanField(default=False)),
                ('warm', models.BooleanField(default=False)),
                ('converged', models.BooleanField(null=True)),
                ('message', models.TextField(blank=True)),
                ('diagnostics', models.JSONField(default=dict)),
                ('components', models.JSONField(null=True)),
                ('unit', models.FloatField(null=True)),
                ('arrays', models.BinaryField(null=True)),
                ('started_at', models.DateTimeField()),
                ('finished_at', models.DateTimeField(null=True)),
                ('seconds', models.FloatField(null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('project_id', 'number'), name='one_fit_per_number'), models.UniqueConstraint(condition=models.Q(('published', True)), fields=('project_id', 'criterion'), name='one_published_fit_per_criterion')],
            },
        ),
        migrations.CreateModel(
            name='Leaderboard',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('board', models.JSONField()),
                ('fit', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='leaderboard', to='models_engine.fit')),
            ],
        ),
        migrations.CreateModel(
            name='Estimate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('item_id', models.BigIntegerField()),
                ('part', models.PositiveIntegerField(default=0)),
                ('utility', models.FloatField()),
                ('sd', models.FloatField()),
                ('low', models.FloatField()),
                ('high', models.FloatField()),
                ('score', models.FloatField(null=True)),
                ('score_low', models.FloatField(null=True)),
                ('score_high', models.FloatField(null=True)),
                ('rank', models.PositiveIntegerField()),
                ('rank_low', models.PositiveIntegerField()),
                ('rank_high', models.PositiveIntegerField()),
                ('p_top', models.FloatField()),
                ('tier', models.PositiveIntegerField()),
                ('rank_class', models.PositiveIntegerField(null=True)),
                ('highest_class', models.PositiveIntegerField(null=True)),
                ('next_state', models.CharField(choices=[('separated', 'Separated'), ('tied', 'Tied'), ('not_enough', 'Not Enough'), ('last', 'Last')], max_length=10)),
                ('n_comparisons', models.PositiveIntegerField()),
                ('divisiveness', models.FloatField(null=True)),
                ('loadings', models.JSONField(null=True)),
                ('fit', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='estimates', to='models_engine.fit')),
            ],
            options={
                'indexes': [models.Index(fields=['fit', 'part', 'rank'], name='estimates_in_order')],
                'constraints': [models.UniqueConstraint(fields=('fit', 'item_id'), name='one_estimate_per_item')],
            },
        ),
        migrations.CreateModel(
            name='AnnotatorEstimate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('annotator_id', models.BigIntegerField()),
                ('n_labels', models.PositiveIntegerField()),
                ('agreement', models.FloatField(null=True)),
                ('n_decided', models.PositiveIntegerField(default=0)),
                ('n_triads', models.PositiveIntegerField(null=True)),
                ('n_cycles', models.PositiveIntegerField(null=True)),
                ('n_sides', models.PositiveIntegerField(default=0)),
                ('n_first', models.PositiveIntegerField(default=0)),
                ('reliability', models.FloatField(null=True)),
                ('reliability_low', models.FloatField(null=True)),
                ('reliability_high', models.FloatField(null=True)),
                ('taste_distance', models.FloatField(null=True)),
                ('taste_distance_low', models.FloatField(null=True)),
                ('taste_distance_high', models.FloatField(null=True)),
                ('scores', models.JSONField(null=True)),
                ('fit', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='annotator_estimates', to='models_engine.fit')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('fit', 'annotator_id'), name='one_estimate_per_annotator')],
            },
        ),
    ]
