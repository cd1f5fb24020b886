// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Net.Sockets;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Http;

namespace Tapir.AspNetCore;

/// <summary>
/// An agent of the node that listens on a unix socket (<c>tapir serve --listen unix:PATH</c>). It is asked to see in this process
/// alone (Tapir-Own), which it knows by the socket, whatever number the process has in its container.
/// </summary>
internal sealed class TapirNode : IDisposable
{
    private readonly string path;
    private readonly HttpMessageInvoker client;

    public TapirNode(string path)
    {
        this.path = path;
        client = new HttpMessageInvoker(new SocketsHttpHandler
        {
            ConnectCallback = (_, cancel) => ConnectAsync(cancel),
            AllowAutoRedirect = false,
            UseProxy = false,
            UseCookies = false,
            PooledConnectionIdleTimeout = TimeSpan.FromSeconds(5),
        });
    }

    private async ValueTask<Stream> ConnectAsync(CancellationToken cancel)
    {
        var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);

        try
        {
            await socket.ConnectAsync(new UnixDomainSocketEndPoint(path), cancel);
            return new NetworkStream(socket, ownsSocket: true);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    /// <summary>False: nobody listens there, or this user may not connect.</summary>
    public async Task<bool> IsThereAsync(CancellationToken cancel)
    {
        try
        {
            await using Stream stream = await ConnectAsync(cancel);

            return true;
        }
        catch (SocketException)
        {
            return false;
        }
    }

    public async Task AnswerAsync(HttpContext context, string root, string rest, byte[] body)
    {
        using HttpRequestMessage request = Request(context, root, rest, body);

        try
        {
            using HttpResponseMessage answer = await client.SendAsync(request, context.RequestAborted);

            context.Response.StatusCode = (int)answer.StatusCode;
            foreach ((string name, IEnumerable<string> values) in answer.Headers.Concat(answer.Content.Headers))
                if (name is not ("Transfer-Encoding" or "Connection" or "Date" or "WWW-Authenticate"))
                    context.Response.Headers[name] = values.ToArray();
            await using Stream content = await answer.Content.ReadAsStreamAsync(context.RequestAborted);
            var part = new byte[32768];

            await context.Response.StartAsync(context.RequestAborted);
            for (int n; (n = await content.ReadAsync(part, context.RequestAborted)) > 0;)
            {
                await context.Response.Body.WriteAsync(part.AsMemory(0, n), context.RequestAborted);
                await context.Response.Body.FlushAsync(context.RequestAborted);
            }
        }
        catch (OperationCanceledException)
        {
            // The client has gone, and the connection to the agent with it.
        }
        catch (Exception e) when (e is HttpRequestException or IOException)
        {
            if (context.Response.HasStarted)
                context.Abort(); // what the client has is not whole
            else
                await TapirExchange.RefuseAsync(context, StatusCodes.Status502BadGateway, "the agent of this node gave no answer");
        }
    }

    private static HttpRequestMessage Request(HttpContext context, string root, string rest, byte[] body)
    {
        var target = new UriBuilder("http", "localhost") { Path = new PathString(rest).ToUriComponent(), Query = context.Request.QueryString.Value };
        var request = new HttpRequestMessage(new HttpMethod(context.Request.Method), target.Uri);

        if (body.Length > 0)
            request.Content = new ByteArrayContent(body);
        foreach (string name in TapirExchange.PassedOn)
            if (context.Request.Headers.TryGetValue(name, out var value) &&
                !request.Headers.TryAddWithoutValidation(name, value.ToString()))
                request.Content?.Headers.TryAddWithoutValidation(name, value.ToString());
        request.Headers.TryAddWithoutValidation("Tapir-Root", root);
        request.Headers.TryAddWithoutValidation("Tapir-Own", "1");
        return request;
    }

    public void Dispose() => client.Dispose();
}
