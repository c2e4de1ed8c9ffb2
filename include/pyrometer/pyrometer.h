/* The whole public interface of libpyrometer. */
#ifndef PYROMETER_H
#define PYROMETER_H

#include <pyrometer/analysis.h>
#include <pyrometer/catalog.h>
#include <pyrometer/bench.h>
#include <pyrometer/cost.h>
#include <pyrometer/error.h>
#include <pyrometer/fit.h>
#include <pyrometer/fuse.h>
#include <pyrometer/graph.h>
#include <pyrometer/hardware.h>
#include <pyrometer/history.h>
#include <pyrometer/map.h>
#include <pyrometer/metrics.h>
#include <pyrometer/model.h>
#include <pyrometer/page.h>
#include <pyrometer/peaks.h>
#include <pyrometer/ranks.h>
#include <pyrometer/recommend.h>
#include <pyrometer/report.h>
#include <pyrometer/scalars.h>
#include <pyrometer/share.h>
#include <pyrometer/tables.h>
#include <pyrometer/trace.h>
#include <pyrometer/train_cost.h>
#include <pyrometer/training.h>
#include <pyrometer/version.h>

#endif
