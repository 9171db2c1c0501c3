# Repeats the ranking of this folder in base R, without further packages: Rscript analysis.R
#
# It fits the Bradley-Terry model with Davidson's ties and a normal prior on utilities, by the nearest normal
# distribution (Opper & Archambeau 2009) or, for "map" and many items, at the mode. Where no standard deviation of the
# prior was set, it is learned by the evidence and averaged over; at the mode the one that was learned is used. Where
# the ranking was computed by BradleyTerry, utilities agree with ranking.csv to the tolerance below. Other estimators
# are not repeated here: the script then says so and prints how the Bradley-Terry utilities correlate with the
# published ranking.

estimator <- "@estimator@"
inference <- "@inference@"
prior_sd <- @prior_sd@  # NA where it is learned
learned_sd <- @learned_sd@  # what was learned
tie_sd <- @tie_sd@
ties_as <- "@ties@"
tolerance <- 1e-4

arguments <- commandArgs(trailingOnly = FALSE)
script <- sub("^--file=", "", arguments[grepl("^--file=", arguments)])
if (length(script) == 1) setwd(dirname(script))

read <- function(file) read.csv(file, colClasses = "character", na.strings = character(0), check.names = FALSE,
                                encoding = "UTF-8")
labels <- read("labels.csv")
items <- sort(unique(read("items.csv")$item), method = "radix")
n <- length(items)

# --- Answers as pairs; a set of three or more as the pairs it implies, with composite-likelihood weights, which could
# --- have been tied only where its equal ranks are ties ---------------------------------------------------------------

is_tied <- if ("tied" %in% names(labels)) labels$tied == "1" else rep(FALSE, nrow(labels))
pairs_of <- function(row) {
  set <- match(strsplit(labels$set[row], ";", fixed = TRUE)[[1]], items)
  ranks <- as.numeric(strsplit(labels$ranks[row], ";", fixed = TRUE)[[1]])
  k <- length(set)
  both <- combn(k, 2)
  outcome <- (1 + sign(ranks[both[2, ]] - ranks[both[1, ]])) / 2
  weight <- 1
  if (k > 2) {
    balance <- colSums(sign(outer(ranks, ranks, function(a, b) a - b)))
    strict <- outcome != 0.5
    keep <- strict | is_tied[row]
    weight <- if (any(balance != 0)) 2 * sum(strict) / sum(balance^2) else 3 / (k + 1)
    both <- both[, keep, drop = FALSE]
    outcome <- outcome[keep]
  }
  if (!length(outcome)) return(NULL)
  cbind(set[both[1, ]], set[both[2, ]], outcome, weight * as.numeric(labels$weight[row]), k == 2 | is_tied[row])
}
pairs <- do.call(rbind, lapply(seq_len(nrow(labels)), pairs_of))
if (ties_as == "ignore") pairs <- pairs[pairs[, 3] != 0.5, , drop = FALSE]
low <- pmin(pairs[, 1], pairs[, 2])
high <- pmax(pairs[, 1], pairs[, 2])
share <- ifelse(pairs[, 1] > pairs[, 2], 1 - pairs[, 3], pairs[, 3])  # of the win of `low`
tied <- ties_as == "davidson" & pairs[, 3] == 0.5
can_tie <- pairs[, 5] == 1
key <- paste(low, high, can_tie)
total_of <- function(values) as.vector(rowsum(values, key, reorder = FALSE))
first <- !duplicated(key)
low <- low[first]
high <- high[first]
can_tie <- can_tie[first]
pair <- match(paste(low, high), unique(paste(low, high)))
wins <- total_of(pairs[, 4] * ifelse(tied, 0, share))
losses <- total_of(pairs[, 4] * ifelse(tied, 0, 1 - share))
ties <- total_of(pairs[, 4] * tied)
total <- wins + losses + ties
has_tie <- sum(ties) > 0
is_mode <- inference == "map" || n > (if (inference == "auto") 500 else 2000)
if (is_mode && is.na(prior_sd)) prior_sd <- learned_sd

# --- Nodes for the standard normal distribution: 15 of Gauss and Hermite (Golub & Welsch 1969) for margins of a
# --- standard deviation of at most 1.2, else equidistant ones, at most 1.2 logits apart -------------------------------

hermite <- function(m) {
  off <- sqrt(seq_len(m - 1))
  jacobi <- matrix(0, m, m)
  jacobi[cbind(1:(m - 1), 2:m)] <- off
  jacobi[cbind(2:m, 1:(m - 1))] <- off
  found <- eigen(jacobi, symmetric = TRUE)
  list(nodes = found$values, weights = found$vectors[1, ]^2)
}
equidistant <- function(m) {
  nodes <- seq(-6, 6, length.out = m)
  list(nodes = nodes, weights = dnorm(nodes) / sum(dnorm(nodes)))
}
rule <- if (is_mode) list(nodes = 0, weights = 1) else hermite(15)
widen <- function(variance) {  # never fewer than before, so that steps settle
  widest <- sqrt(max(variance, 0))
  enough <- if (widest > 1.2) 1 + 2^ceiling(log2(10 * widest)) else 1
  if (enough > length(rule$nodes)) rule <<- equidistant(enough)
}

# --- Derivatives of an answer's log probability, averaged over margins ~ N(z, variance) -------------------------------

averaged <- function(z, variance, log_nu) {
  sums <- matrix(0, length(z), 6)
  for (place in seq_along(rule$nodes)) {
    at <- z + sqrt(variance) * rule$nodes[place]
    largest <- pmax(abs(at) / 2, log_nu)
    up <- exp(at / 2 - largest)
    down <- exp(-at / 2 - largest)
    nu <- exp(log_nu - largest)
    all <- up + down + nu
    p <- up / all
    q <- down / all
    tie <- nu / all
    sums <- sums + rule$weights[place] *
      cbind(p, q, p * q + (p + q) * tie / 4, tie, tie * (q - p) / 2, tie * (p + q))
  }
  list(p = sums[, 1], q = sums[, 2], bend = sums[, 3], tie = sums[, 4], cross = sums[, 5], tie_bend = sums[, 6])
}
spread <- function(values) {  # from pairs to items
  found <- numeric(n)
  up <- rowsum(values, low)
  down <- rowsum(values, high)
  found[as.integer(rownames(up))] <- up
  rows <- as.integer(rownames(down))
  found[rows] <- found[rows] - down
  found
}
precision_of <- function(weights, prior_sd) {
  found <- diag(1 / prior_sd^2, n)
  by_pair <- rowsum(weights, pair, reorder = FALSE)[pair]
  found[cbind(low, high)] <- -by_pair
  found[cbind(high, low)] <- -by_pair
  diag(found) <- diag(found) + as.vector(rowsum(c(weights, weights, numeric(n)), c(low, high, seq_len(n)), reorder = TRUE))
  found
}

# --- What the log evidence has beyond its bound, pair by pair: log of the average of the likelihood over the Gaussian
# --- that stands for it ------------------------------------------------------------------------------------------------

evidence_above_bound <- function() {  # of the last fit
  deviation <- sqrt(variance)
  apart <- min(0.45, 1.2 / max(deviation))
  nodes <- seq(-9, 9, length.out = 1 + 2 * ceiling(9 / apart))
  share <- dnorm(nodes) / sum(dnorm(nodes))
  nu <- ifelse(can_tie, log_nu, -Inf)
  log_t <- matrix(sapply(nodes, function(at) {
    z <- f[low] - f[high] + deviation * at
    largest <- pmax(abs(z) / 2, nu)
    all <- largest + log(exp(z / 2 - largest) + exp(-z / 2 - largest) + exp(nu - largest))
    rowsum(wins * (z / 2 - all) - losses * (z / 2 + all) + ifelse(ties > 0, ties * (nu - all), 0), pair, reorder = FALSE)
  }), ncol = length(nodes))
  mean <- as.vector(log_t %*% share)
  slope <- as.vector(log_t %*% (share * nodes))
  bend <- as.vector(log_t %*% (share * (nodes^2 - 1)))
  sum(log(exp(log_t - mean - slope %o% nodes - bend %o% (nodes^2 - 1) / 2) %*% share))
}

# --- Damped steps until nothing moves, from where the last fit ended --------------------------------------------------

f <- numeric(n)
log_nu <- if (has_tie) 0 else -Inf
weights <- total / 4
variance <- numeric(length(low))  # of margins, by the last fit
fit_at <- function(prior_sd) {
  converged <- FALSE
  for (iteration in 1:500) {
    covariance <- chol2inv(chol(precision_of(weights, prior_sd)))
    spreads <- diag(covariance)
    if (!is_mode) variance <<-
      pmax(spreads[low] + spreads[high] - 2 * covariance[cbind(low, high)], 0)
    if (!is_mode) widen(variance)
    a <- averaged(f[low] - f[high], variance, ifelse(can_tie, log_nu, -Inf))
    slope <- spread(wins * (a$q + a$tie / 2) - losses * (a$p + a$tie / 2) + ties * (a$q - a$p) / 2) - f / prior_sd^2
    step <- covariance %*% slope
    nuisance <- 0
    if (has_tie) {
      border <- spread(total * a$cross)
      corner <- sum(total * a$tie_bend) + 1 / tie_sd^2
      nu_slope <- sum(ties * (a$p + a$q) - (wins + losses) * a$tie) - log_nu / tie_sd^2
      reach <- covariance %*% border
      nuisance <- as.vector((nu_slope - sum(border * step)) / (corner - sum(border * reach)))
      step <- step - reach * nuisance
      log_nu <<- log_nu + 0.5 * nuisance
    }
    f <<- f + 0.5 * as.vector(step)
    bend <- total * a$bend
    moved <- max(abs(step), abs(nuisance), abs(bend - weights))
    weights <<- (weights + bend) / 2
    if (moved < 1e-9) { converged <- TRUE; break }
  }
  if (!converged) cat(sprintf("Not converged after 500 steps; the last moved something by %.2g.\n", moved))
  (sum(f^2) + sum(spreads)) / prior_sd^2 - n - log(prior_sd / 1.5)  # slope of the log evidence by log prior_sd
}

# --- The prior's standard deviation: the likeliest, and the average over nodes around it, a standard deviation of its
# --- logarithm apart, by the trapezoidal rule where they end at the lowest; the bound of the log evidence is the integral
# --- of its slopes, quadratic between nodes. Where answers agree more than such a scale explains the site fits again
# --- with one of .75 at least, which is not repeated here ------------------------------------------------------------

integral <- function(x, y) {  # over the first two of three points, of the quadratic through all
  bend <- ((y[3] - y[2]) / (x[3] - x[2]) - (y[2] - y[1]) / (x[2] - x[1])) / (x[3] - x[1])
  (x[2] - x[1]) * (y[1] + y[2]) / 2 - bend * (x[2] - x[1])^3 / 6
}
if (is.na(prior_sd)) {
  slope_at <- function(position) fit_at(exp(position))
  highest <- log(6)  # the likeliest is at most this, which then stands for all
  lowest <- log(0.05)  # and nothing is below this
  central <- log(1.5)  # from where the search goes up or down
  mode <- if (slope_at(central) > 0) {
    if (slope_at(highest) > 0) highest else uniroot(slope_at, c(central, highest), tol = 1e-10)$root
  } else {
    if (slope_at(lowest) < 0) lowest else uniroot(slope_at, c(lowest, central), tol = 1e-10)$root
  }
  beside <- c(mode + 0.1, slope_at(mode + 0.1))
  ahead <- list(f, evidence_above_bound())
  at_mode <- c(mode, slope_at(mode))
  lacked <- evidence_above_bound()
  deviation <- sqrt(0.1 / max(at_mode[2] - beside[2], 0.025))
  if (mode == lowest) deviation <- 1 / (1 / deviation + max(-at_mode[2], 0))
  if (deviation <= 0.2 && mode > lowest && mode < highest) {
    f <- f + deviation^2 * (ahead[[2]] - lacked) / 0.1 * (ahead[[1]] - f) / 0.1
  }
  if (deviation > 0.2 && mode < highest) {
    likeliest <- list(f, log_nu, weights)
    spacing <- if (mode - lowest < deviation) deviation / 2 else deviation
    below <- function(position) min(max((position - lowest) / spacing, 0), 1)
    sum_of_weights <- (1 + below(mode)) / 2
    sum_of_f <- sum_of_weights * f
    for (way in c(1, -1)) {
      f <- likeliest[[1]]
      log_nu <- likeliest[[2]]
      weights <- likeliest[[3]]
      last <- at_mode
      before <- beside
      density <- 0
      beyond <- 0
      for (number in 1:12) {
        apart <- if (way > 0) 1 else below(last[1])
        if (apart < 1e-6) break
        step <- way * spacing * apart
        bend <- (last[2] - before[2]) / (last[1] - before[1])
        if (density + beyond + step * last[2] + step^2 * bend / 2 < -6) break
        node <- c(last[1] + step, slope_at(last[1] + step))
        density <- density + integral(c(last[1], node[1], before[1]), c(last[2], node[2], before[2]))
        beyond <- evidence_above_bound() - lacked
        weight <- exp(density + beyond) * (if (way > 0) 1 else (apart + below(node[1])) / 2)
        sum_of_weights <- sum_of_weights + weight
        sum_of_f <- sum_of_f + weight * f
        if (number == 1) beside <- node
        before <- last
        last <- node
      }
    }
    f <- sum_of_f / sum_of_weights
  }
} else {
  fit_at(prior_sd)
}

# --- Beside the ranking: utilities are centred within each connected part ---------------------------------------------

ranking <- read("ranking.csv")
published <- as.numeric(ranking$utility)
own <- f[match(ranking$item, items)]
own <- own - ave(own, ranking$part)
result <- data.frame(item = ranking$item, part = ranking$part, utility = own, published = published)
write.csv(result, "ranking_by_R.csv", row.names = FALSE)
difference <- max(abs(own - published))
if (estimator == "BradleyTerry") {
  same <- difference < tolerance
  cat(sprintf("Bradley-Terry in R: largest difference of a utility %.2g, %s the tolerance of %g.\n", difference,
              if (same) "within" else "NOT within", tolerance))
  if (!same) quit(status = 1)
} else {
  cat(sprintf("The ranking was computed by %s, which this script does not repeat (analysis.py does).\n", estimator))
  cat("It fitted the Bradley-Terry model instead.\n")
}
if (length(own) > 2) {
  cat(sprintf("Correlation with the published utilities: Pearson %.4f, Kendall %.4f.\n", cor(own, published),
              cor(own, published, method = "kendall")))
}
cat("Written: ranking_by_R.csv\n")
