"""Notes answers for webhooks: a flag on the project, and a table of what is still to be told."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotate', '0069_words_of_every_button_translated'),
    ]

    operations = [
        migrations.AddField(
            model_name='project',
            name='notes_answers',
            field=models.BooleanField(default=False, editable=False),
        ),
        migrations.CreateModel(
            name='AnswerNotice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('undone', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(db_index=True)),
                ('label', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notices', to='annotate.label')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='answer_notices', to='annotate.project')),
            ],
        ),
    ]
