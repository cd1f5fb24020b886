// SPDX-License-Identifier: MIT
namespace Tapir.AspNetCore;

/// <summary>Of <see cref="TapirEndpoints.MapTapir"/>.</summary>
public sealed class TapirOptions
{
    /// <summary>
    /// Answers everybody who reaches the endpoint. Without it, and without authorization of the endpoint
    /// (<c>RequireAuthorization</c>), only callers from loopback are answered.
    /// </summary>
    public bool AllowRemote { get; set; }

    /// <summary>
    /// The unix socket of an agent of this node, such as <c>/run/tapir/tapir.sock</c>. While somebody listens there to whom this
    /// user may connect, requests go there instead of to a child of this process. Null: none.
    /// </summary>
    public string? NodeSocket { get; set; }
}
