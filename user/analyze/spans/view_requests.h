/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view_requests.h - the view of requests, through all recorded processes. */
#ifndef TAPIR_USER_VIEW_REQUESTS_H
#define TAPIR_USER_VIEW_REQUESTS_H

#include "analyze/view.h"

extern const struct tapir_view tapir_view_requests;

#endif
