"""Progress page: labels over time, goal, forecast."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from annotate import access
from annotate.dashboard.goal.queries import cost_of, goal_status
from annotate.dashboard.pages import render_page
from annotate.dashboard.progress.paces import paces
from annotate.dashboard.progress.queries import progress as progress_page
from annotate.dashboard.progress.savings import measured_saving
from annotate.dashboard.project_lookup import requested_criterion
from annotate.dashboard.trust.coverage import heat_map
from annotate.dashboard.trust.settling import settling_of
from annotate.fitting.published import published_fit
from annotate.labelling.plan.capacity import ending_capacity
from annotate.labelling.plan.queries import plan_progress
from annotate.labelling.targets import target_reached


@login_required
@require_safe
def progress(request: HttpRequest, project_id: UUID) -> HttpResponse:
    criterion = requested_criterion(request, project_id)
    project = criterion.project
    fit, now = published_fit(criterion), timezone.now()
    found = progress_page(criterion, fit)
    goal = goal_status(criterion, fit, now)
    plan = plan_progress(project)
    context = {
        "fit": fit,
        "progress": found,
        "goal": goal,
        "cost": cost_of(project, goal.needed if goal else None),
        "plan": plan,
        "target": target_reached(project),
        "capacity": ending_capacity(project, plan) if project.role in access.MANAGE else None,
        "saving": measured_saving(criterion),
        "heat": heat_map(fit),
        "settling": settling_of(fit) if fit and fit.n_items else None,
        "paces": paces(project, now),
    }
    return render_page(request, criterion, "dashboard/progress", context)
