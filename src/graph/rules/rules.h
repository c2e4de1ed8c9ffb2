/* The cost rules of operators, listed in rules.def. Each file here has those of one subject. */
#ifndef PYRO_GRAPH_RULES_H
#define PYRO_GRAPH_RULES_H

#include "graph/ops.h"

#define RULE(name, shape) bool pyro_rule_##name(pyro_call *call, pyro_price *price);
#include "graph/rules/rules.def"
#undef RULE

#endif
