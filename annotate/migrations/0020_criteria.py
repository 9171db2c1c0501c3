"""Several criteria per presentation. What held one evaluation per project is made anew: the engine fills it again."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotate', '0019_retention'),
    ]

    operations = [
        migrations.AddField(
            model_name='project',
            name='criteria',
            field=models.JSONField(blank=True, default=list, verbose_name='criteria'),
        ),
        migrations.AddField(
            model_name='runrecord',
            name='criterion',
            field=models.PositiveSmallIntegerField(default=1),
        ),
        migrations.CreateModel(
            name='FurtherAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('criterion', models.PositiveSmallIntegerField()),
                ('outcome', models.CharField(choices=[('choice', 'Choice'), ('best_worst', 'Best and worst'), ('ranking', 'Ranking'), ('top', 'Ranking of the best few'), ('tie', 'Tie'), ('both_good', 'Both good'), ('both_bad', 'Both bad'), ('cant_judge', "Can't judge"), ('skip', 'Skip')], max_length=10)),
                ('grade', models.CharField(blank=True, choices=[('slightly', 'Slightly'), ('clearly', 'Clearly')], max_length=10)),
                ('ranks', models.CharField(blank=True, max_length=10)),
                ('chosen', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='chosen_further_in', to='annotate.item')),
                ('label', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='further', to='annotate.label')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('label', 'criterion'), name='one_answer_per_criterion'), models.CheckConstraint(condition=models.Q(('criterion__range', (2, 5))), name='a_criterion_after_the_first'), models.CheckConstraint(condition=models.Q(models.Q(('chosen__isnull', False), ('outcome', 'choice')), models.Q(models.Q(('outcome', 'choice'), _negated=True), ('chosen__isnull', True)), _connector='OR'), name='a_further_choice_names_its_item'), models.CheckConstraint(condition=models.Q(models.Q(('outcome__in', ['best_worst', 'ranking', 'top']), models.Q(('ranks', ''), _negated=True)), models.Q(models.Q(('outcome__in', ['best_worst', 'ranking', 'top']), _negated=True), ('ranks', '')), _connector='OR'), name='a_further_order_says_its_ranks'), models.CheckConstraint(condition=models.Q(('grade', ''), ('outcome', 'choice'), _connector='OR'), name='only_a_further_choice_is_graded')],
            },
        ),
        migrations.DeleteModel(
            name='Evaluation',
        ),
        migrations.CreateModel(
            name='Evaluation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('criterion', models.PositiveSmallIntegerField(default=1)),
                ('n_labels', models.PositiveIntegerField(default=0)),
                ('n_drawn', models.PositiveIntegerField(blank=True, null=True)),
                ('fit_number', models.PositiveIntegerField(blank=True, null=True)),
                ('estimator', models.CharField(blank=True, max_length=50)),
                ('figures', models.JSONField(default=list)),
                ('made_at', models.DateTimeField(blank=True, null=True)),
                ('owner', models.CharField(blank=True, max_length=100)),
                ('lease_until', models.DateTimeField(blank=True, null=True)),
                ('gave_way', models.PositiveIntegerField(default=0)),
                ('not_before', models.DateTimeField(blank=True, null=True)),
                ('message', models.TextField(blank=True)),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='evaluations', to='annotate.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('project', 'criterion'), name='one_evaluation_per_criterion')],
            },
        ),
    ]
